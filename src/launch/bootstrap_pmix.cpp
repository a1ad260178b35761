#include "launch/bootstrap_pmix.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/os_library.h"
#include "base/os_process.h"
#include "base/param.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr const char* kLibrary = "libpmix.so.2";

// Candidate file names of the library. A launcher that was moved after its installation sets PMIX_PREFIX to
// its new place; the library of that installation is preferred, because it finds its own plugins there.
std::vector<std::string> candidates() {
  if (const std::string& named = param::get_text(param::Id::launch_pmix_library); !named.empty()) {
    return {named};
  }
  std::vector<std::string> names;
  const std::string prefix(variable("PMIX_PREFIX"));
  if (prefix.starts_with("/")) {
    for (const char* folder : {"/lib/", "/lib64/", "/lib/openmpi/", "/lib/pmix/"}) {
      names.push_back(prefix + folder + kLibrary);
    }
  }
  names.emplace_back(kLibrary);
  return names;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(os::function_in(library, name));
  return function != nullptr;
}

bool find_all(void* library, pmix::Functions& call) {
  return find(library, "PMIx_Init", call.init) && find(library, "PMIx_Finalize", call.finalize) &&
         find(library, "PMIx_Abort", call.abort) && find(library, "PMIx_Put", call.put) &&
         find(library, "PMIx_Commit", call.commit) && find(library, "PMIx_Fence", call.fence) &&
         find(library, "PMIx_Get", call.get) && find(library, "PMIx_Error_string", call.error_string);
}

pmix::Info hint(const char* key) {
  pmix::Info info = {};
  std::strncpy(info.key, key, sizeof info.key - 1);
  return info;
}

// Time limit of a get(): the server of a rank on another machine may have lost that rank.
pmix::Info give_up_in_time() {
  pmix::Info timeout = hint(pmix::kKeyTimeout);
  const uint64_t seconds = param::get_time_ns(param::Id::launch_join_timeout) / 1'000'000'000;
  timeout.value.type = pmix::kTypeInt;
  timeout.value.data.integer = static_cast<int>(std::clamp<uint64_t>(seconds, 1, INT32_MAX));
  return timeout;
}

}  // namespace

bool pmix_server_named() {
  for (const char* name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                           "PMIX_SERVER_URI2", "PMIX_SERVER_URI"}) {
    if (!variable(name).empty()) return true;
  }
  return false;
}

Status PmixLauncher::load() {
  std::string problem;
  for (const std::string& name : candidates()) {
    void* library = os::open_library(name, problem);
    if (library == nullptr) continue;
    if (find_all(library, call_)) return {};
    problem = name + " lacks functions of PMIx 3";
  }
  return fail(MPI_ERR_OTHER,
              "started by a launcher with PMIx, but its library cannot be opened: %s. Remedy: install %s "
              "(Debian and Ubuntu: libpmix2) or name its file in HEARTH_LAUNCH_PMIX_LIBRARY; or use srun "
              "--mpi=pmi2, MPICH's mpiexec, or Hearth's: mpiexec -n N %s",
              problem.c_str(), kLibrary, os::program_name().c_str());
}

Status PmixLauncher::open(std::unique_ptr<ForeignLauncher>& result) {
  std::unique_ptr<PmixLauncher> made(new PmixLauncher);
  PmixLauncher* const launcher = made.get();
  HEARTH_TRY(launcher->load());
  if (const int status = launcher->call_.init(&launcher->self_, nullptr, 0); status != pmix::kSuccess) {
    return fail(
        MPI_ERR_OTHER,
        "started by a launcher with PMIx (PMIX_NAMESPACE=%s), but its server does not answer: %s. "
        "Likely cause: the launcher has ended, or the variables are left over from another program. "
        "Remedy: start this program by the launcher itself, or with Hearth's mpiexec: mpiexec -n N %s",
        printable(variable("PMIX_NAMESPACE")).c_str(), launcher->call_.error_string(status),
        os::program_name().c_str());
  }
  launcher->connected_ = true;
  result = std::move(made);
  HEARTH_TRY(launcher->get_number(pmix::kRankWildcard, pmix::kKeyJobSize, launcher->size_));
  launcher->rank_ = static_cast<int>(launcher->self_.rank);
  if (!launcher->get_number(launcher->self_.rank, pmix::kKeyAppNumber, launcher->app_).ok())
    launcher->app_ = 0;
  if (launcher->size_ < 1 || launcher->size_ > kRanksMax ||
      launcher->self_.rank >= uint32_t(launcher->size_)) {
    return fail(MPI_ERR_OTHER, "the launcher's PMIx server says that this is rank %u of %d",
                launcher->self_.rank, launcher->size_);
  }
  return {};
}

Status PmixLauncher::refused(const char* what, int status) const {
  return fail(MPI_ERR_OTHER, "the launcher's server (PMIx) refused %s: %s", what, call_.error_string(status));
}

Status PmixLauncher::get_number(uint32_t rank, const char* key, int& number) {
  pmix::Process whose = self_;
  whose.rank = rank;
  pmix::Value* value = nullptr;
  if (const int status = call_.get(&whose, key, nullptr, 0, &value);
      status != pmix::kSuccess || value == nullptr) {
    return refused(key, status);
  }
  const bool good = value->type == pmix::kTypeUint32 && value->data.uint32 <= INT32_MAX;
  if (good) number = static_cast<int>(value->data.uint32);
  std::free(value);
  if (good) return {};
  return fail(MPI_ERR_OTHER, "the launcher's server (PMIx) gave no number for %s", key);
}

Status PmixLauncher::put_text(const std::string& key, const std::string& text) {
  pmix::Value value = {};
  value.type = pmix::kTypeString;
  value.data.string = const_cast<char*>(text.c_str());
  const int status = call_.put(pmix::kScopeGlobal, key.c_str(), &value);
  return status == pmix::kSuccess ? Status() : refused("PMIx_Put", status);
}

Status PmixLauncher::fence() {
  if (const int status = call_.commit(); status != pmix::kSuccess) return refused("PMIx_Commit", status);
  pmix::Info collect = hint(pmix::kKeyCollect);
  collect.value.type = pmix::kTypeBool;
  collect.value.data.flag = true;
  const int status = call_.fence(nullptr, 0, &collect, 1);
  return status == pmix::kSuccess ? Status() : refused("PMIx_Fence", status);
}

// Without this fence, get() never returned if the rank whose data it asks for had ended (PRRTE of Open MPI 5,
// two hosts, one run in three). The likely reason: a server without the data asks the server of that rank.
Status PmixLauncher::all_have_read() {
  const int status = call_.fence(nullptr, 0, nullptr, 0);
  return status == pmix::kSuccess ? Status() : refused("PMIx_Fence", status);
}

Status PmixLauncher::get_text(int rank, const std::string& key, std::string& text) {
  pmix::Process whose = self_;
  whose.rank = static_cast<uint32_t>(rank);
  pmix::Value* value = nullptr;
  const pmix::Info timeout = give_up_in_time();
  const int status = call_.get(&whose, key.c_str(), &timeout, 1, &value);
  if (status == pmix::kErrorTimeout) {
    return fail(
        MPI_ERR_OTHER,
        "the launcher's server (PMIx) has not given '%s' within %d s. Likely cause: rank %d has ended in "
        "MPI_Init, or its machine is gone. Remedy: look for its words; on a slow machine set "
        "HEARTH_LAUNCH_JOIN_TIMEOUT higher",
        key.c_str(), timeout.value.data.integer, rank);
  }
  if (status != pmix::kSuccess || value == nullptr) {
    return fail(
        MPI_ERR_OTHER,
        "the launcher's server (PMIx) knows no '%s' (%s): rank %d is no rank of Hearth. Likely cause: "
        "programs of several MPI libraries in one job",
        key.c_str(), call_.error_string(status), rank);
  }
  const bool good = value->type == pmix::kTypeString && value->data.string != nullptr;
  if (good) {
    text = value->data.string;
    std::free(value->data.string);
  }
  std::free(value);
  if (good) return {};
  return fail(MPI_ERR_OTHER, "the launcher's server (PMIx) gave no text for %s", key.c_str());
}

void PmixLauncher::abort(int code, const std::string& text) {
  if (connected_) static_cast<void>(call_.abort(code, text.c_str(), nullptr, 0));
}

void PmixLauncher::finalize() {
  if (!connected_) return;
  connected_ = false;
  static_cast<void>(call_.finalize(nullptr, 0));
}

}  // namespace hearth::launch
