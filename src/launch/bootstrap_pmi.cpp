#include "launch/bootstrap_pmi.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/os_socket.h"
#include "base/param.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr size_t kTextLettersLeast = 256;

// The server's reason for a refusal.
std::string reason_in(const PmiMessage& answer) {
  for (const char* name : {"errmsg", "msg"}) {
    if (const std::string* words = answer.find(name); words != nullptr) return printable(*words);
  }
  const std::string* code = answer.find("rc");
  return "rc=" + (code == nullptr ? std::string("?") : printable(*code));
}

}  // namespace

Status PmiLauncher::from_descriptor(int descriptor, std::unique_ptr<ForeignLauncher>& result) {
  // Close-on-exec: programs that this process starts must not use its connection, and the server must see its
  // end as end of file.
  os::set_close_on_exec(descriptor, true);
  os::set_nonblocking(descriptor, false);
  std::unique_ptr<PmiLauncher> launcher(new PmiLauncher(os::Descriptor(descriptor)));
  if (!small_variable("PMI_RANK", launcher->rank_) || !small_variable("PMI_SIZE", launcher->size_)) {
    return fail(
        MPI_ERR_OTHER,
        "PMI_FD is there, but PMI_RANK='%s' and PMI_SIZE='%s' are not what a launcher writes. Remedy: "
        "do not change these variables",
        printable(variable("PMI_RANK")).c_str(), printable(variable("PMI_SIZE")).c_str());
  }
  const Status started = launcher->start();
  if (launcher->agreed_) result = std::move(launcher);
  return started;
}

Status PmiLauncher::from_port(const std::string& address, const std::string& id,
                              std::unique_ptr<ForeignLauncher>& result) {
  const size_t colon = address.rfind(':');
  std::string problem = "it is not of the form host:port";
  os::Descriptor server;
  if (colon != std::string::npos && colon > 0) {
    server = os::connect_to_port(address.substr(0, colon), address.substr(colon + 1), problem);
  }
  if (!server.open()) {
    return fail(
        MPI_ERR_OTHER,
        "cannot reach the launcher's server at PMI_PORT=%s: %s. Likely cause: the launcher has ended, "
        "or the variable is left over from another program. Remedy: start this program by the "
        "launcher itself",
        printable(address).c_str(), problem.c_str());
  }
  std::unique_ptr<PmiLauncher> launcher(new PmiLauncher(std::move(server)));
  HEARTH_TRY(launcher->introduce(id));
  const Status started = launcher->start();
  if (launcher->agreed_) result = std::move(launcher);
  return started;
}

// A server at a port first receives PMI_ID and then sends the rank.
Status PmiLauncher::introduce(const std::string& id) {
  int number = 0;
  if (!parse_small(id, number)) {
    return fail(MPI_ERR_OTHER, "PMI_ID='%s' is not what a launcher writes. Remedy: do not change it",
                printable(id).c_str());
  }
  PmiMessage answer;
  HEARTH_TRY(ask(PmiMessage("initack").add("pmiid", number), "initack", answer));
  bool rank_told = false;
  bool size_told = false;
  for (int i = 0; i < 3; ++i) {  // size, rank and debug, one line each
    HEARTH_TRY(receive("set", answer));
    size_told = answer.number("size", size_) || size_told;
    rank_told = answer.number("rank", rank_) || rank_told;
  }
  if (rank_told && size_told) return {};
  return fail(MPI_ERR_OTHER, "the launcher's server at PMI_PORT did not tell this process its rank");
}

Status PmiLauncher::start() {
  const std::string& wish = param::get_text(param::Id::launch_pmi);
  if (wish != "pmi2") HEARTH_TRY(offer_version(1));
  if (!agreed_) HEARTH_TRY(offer_version(2));
  if (!agreed_) return fail(MPI_ERR_OTHER, "the launcher's server speaks neither PMI-1 nor PMI-2");
  HEARTH_TRY(version_ == 2 ? start_version_2() : start_version_1());
  if (size_ >= 1 && size_ <= kRanksMax && rank_ < size_) return {};
  return fail(MPI_ERR_OTHER,
              "the launcher says that this is rank %d of %d. Remedy: do not change PMI_RANK "
              "and PMI_SIZE",
              rank_, size_);
}

Status PmiLauncher::offer_version(int version) {
  PmiMessage answer;
  version_ = 1;  // these two messages use the PMI-1 format in both versions
  HEARTH_TRY(ask(PmiMessage("init").add("pmi_version", version).add("pmi_subversion", version == 1 ? 1 : 0),
                 "response_to_init", answer, false));
  int spoken = 0;
  agreed_ = answer.succeeded() && answer.number("pmi_version", spoken) && spoken == version;
  if (agreed_) version_ = version;
  return {};
}

Status PmiLauncher::start_version_1() {
  PmiMessage answer;
  HEARTH_TRY(ask(PmiMessage("get_maxes"), "maxes", answer));
  int letters = 0;
  if (!answer.number("vallen_max", letters) || static_cast<size_t>(letters) < kTextLettersLeast) {
    return fail(MPI_ERR_OTHER, "the launcher's server takes values of at most %d letters; Hearth needs %zu",
                letters, kTextLettersLeast);
  }
  text_letters_max_ = std::min(static_cast<size_t>(letters) - 1, kPmiBytesMax / 2);
  // Some servers do not know the program's index; it is 0 then.
  HEARTH_TRY(ask(PmiMessage("get_appnum"), "appnum", answer, false));
  if (!answer.number("appnum", app_)) app_ = 0;
  HEARTH_TRY(ask(PmiMessage("get_my_kvsname"), "my_kvsname", answer));
  const std::string* name = answer.find("kvsname");
  if (name == nullptr || name->empty()) {
    return fail(MPI_ERR_OTHER, "the launcher's server did not name the job's key-value space");
  }
  space_ = *name;
  return {};
}

Status PmiLauncher::start_version_2() {
  PmiMessage request("fullinit");
  const std::string job(variable("PMI_JOBID"));
  if (!job.empty()) request.add("pmijobid", job);
  request.add("pmirank", rank_).add("threaded", "FALSE");
  PmiMessage answer;
  HEARTH_TRY(ask(request, "fullinit-response", answer));
  if (!answer.number("rank", rank_) || !answer.number("size", size_)) {
    return fail(MPI_ERR_OTHER, "the launcher's server (PMI-2) did not tell this process its rank");
  }
  if (!answer.number("appnum", app_)) app_ = 0;
  HEARTH_TRY(ask(PmiMessage("job-getid"), "job-getid-response", answer));
  if (const std::string* name = answer.find("jobid"); name != nullptr) space_ = *name;
  return {};
}

Status PmiLauncher::fence() {
  PmiMessage answer;
  if (version_ == 2) return ask(PmiMessage("kvs-fence"), "kvs-fence-response", answer);
  return ask(PmiMessage("barrier_in"), "barrier_out", answer);
}

Status PmiLauncher::put_text(const std::string& key, const std::string& text) {
  PmiMessage answer;
  if (version_ == 2) {
    return ask(PmiMessage("kvs-put").add("key", key).add("value", text), "kvs-put-response", answer);
  }
  return ask(PmiMessage("put").add("kvsname", space_).add("key", key).add("value", text), "put_result",
             answer);
}

Status PmiLauncher::get_text(int rank, const std::string& key, std::string& text) {
  PmiMessage answer;
  if (version_ == 2) {
    PmiMessage request("kvs-get");
    if (!space_.empty()) request.add("jobid", space_);
    HEARTH_TRY(ask(request.add("srcid", rank).add("key", key), "kvs-get-response", answer));
  } else {
    HEARTH_TRY(ask(PmiMessage("get").add("kvsname", space_).add("key", key), "get_result", answer));
  }
  const std::string* found = answer.find("found");
  const std::string* value = answer.find("value");
  if (value == nullptr || (found != nullptr && *found != "TRUE")) {
    return fail(MPI_ERR_OTHER,
                "the launcher's server (%s) knows no '%s': rank %d is no rank of Hearth. Likely "
                "cause: programs of several MPI libraries in one job",
                protocol(), key.c_str(), rank);
  }
  text = *value;
  return {};
}

void PmiLauncher::abort(int code, const std::string& text) {
  if (!server_.open()) return;
  // PMI-1 separates fields by blanks. The server sends no answer, and errors cannot be handled here.
  std::string words = printable(text);
  std::replace(words.begin(), words.end(), ' ', '_');
  PmiMessage message("abort");
  if (version_ == 2) {
    std::replace(words.begin(), words.end(), ';', ',');
    message.add("isworld", "TRUE").add("exitcode", code).add("msg", words);
  } else {
    message.add("exitcode", code).add("message", words);
  }
  static_cast<void>(send(message));
}

void PmiLauncher::finalize() {
  if (!server_.open()) return;
  PmiMessage answer;
  // Errors are ignored: if the server is gone, nothing is waiting for this message.
  static_cast<void>(
      ask(PmiMessage("finalize"), version_ == 2 ? "finalize-response" : "finalize_ack", answer));
  server_.reset();
}

Status PmiLauncher::send(const PmiMessage& message) {
  const std::string bytes = version_ == 2 ? to_pmi2(message) : to_pmi1(message);
  if (os::send_all(server_.number(), bytes.data(), bytes.size())) return {};
  return fail(MPI_ERR_OTHER,
              "cannot send to the launcher's server (%s): %s. Likely cause: the launcher has "
              "ended",
              protocol(), std::strerror(errno));
}

Status PmiLauncher::ask(const PmiMessage& request, const char* expected, PmiMessage& answer,
                        bool must_succeed) {
  HEARTH_TRY(send(request));
  HEARTH_TRY(receive(expected, answer));
  if (!must_succeed || answer.succeeded()) return {};
  return fail(MPI_ERR_OTHER, "the launcher's server (%s) refused '%s': %s", protocol(),
              std::string(request.command()).c_str(), reason_in(answer).c_str());
}

Status PmiLauncher::receive(const char* expected, PmiMessage& answer) {
  std::string text;
  bool parsed = false;
  if (version_ == 2) {
    size_t bytes = 0;
    HEARTH_TRY(receive_bytes(kPmi2LengthColumns, text));
    if (parse_pmi2_length(text, bytes)) {
      HEARTH_TRY(receive_bytes(bytes, text));
      parsed = parse_pmi2(text, answer);
    }
  } else {
    HEARTH_TRY(receive_line(text));
    parsed = parse_pmi1(text, answer);
  }
  if (parsed && answer.command() == expected) return {};
  return fail(MPI_ERR_OTHER,
              "the launcher's server answered '%s' where %s has '%s'. Likely cause: it speaks "
              "another protocol. Remedy: start the job with Hearth's mpiexec",
              printable(text).c_str(), protocol(), expected);
}

Status PmiLauncher::receive_line(std::string& line) {
  size_t end = received_.find('\n');
  while (end == std::string::npos) {
    HEARTH_TRY(receive_more());
    end = received_.find('\n');
  }
  line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return {};
}

Status PmiLauncher::receive_bytes(size_t bytes, std::string& text) {
  while (received_.size() < bytes) HEARTH_TRY(receive_more());
  text = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return {};
}

Status PmiLauncher::receive_more() {
  if (received_.size() > kPmiBytesMax) {
    return fail(MPI_ERR_OTHER, "the launcher's server (%s) sends a message without an end: '%s'", protocol(),
                printable(received_).c_str());
  }
  std::array<char, 4096> piece;
  const intptr_t bytes = os::read_some(server_.number(), piece.data(), piece.size());
  if (bytes <= 0) {
    return fail(MPI_ERR_OTHER, "the launcher's server (%s) has gone: %s", protocol(),
                bytes == 0 ? "it closed the connection" : std::strerror(errno));
  }
  received_.append(piece.data(), static_cast<size_t>(bytes));
  return {};
}

}  // namespace hearth::launch
