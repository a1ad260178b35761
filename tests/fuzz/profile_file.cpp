// The profile of a machine, as a JSON file.
#include "tune/profile.h"

#include "fuzz.h"

using namespace hearth;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  tune::Profile profile;
  if (!tune::parse_profile(fuzz::Input(data, bytes).rest(), profile).ok()) return 0;
  const std::string text = tune::profile_text(profile);
  tune::Profile again;
  fuzz::demand(tune::parse_profile(text, again).ok(), "what we write we can read");
  fuzz::demand(again.values().size() <= profile.values().size(), "and it says no more than before");
  return 0;
}
