// `hearth profile` in a build without it.
#include "profile.h"

#include "base/left_out.h"

namespace hearth::tools {

Status run_profile(const ProfileOptions&) {
  return left_out("hearth profile", "HEARTH_WITH_PROFILE");
}

}  // namespace hearth::tools
