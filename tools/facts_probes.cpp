#include <cerrno>
#include <cstring>

#include "base/os_io.h"
#include "base/os_machine.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "base/os_xpmem.h"
#include "facts.h"
#include "pretty.h"
#include "shm/arena.h"

namespace hearth::tools {
namespace {

constexpr uint64_t kWord = 0x6d656173757265;

struct Outcome {
  bool works = false;
  int error = 0;
};

Json as_json(const char* what, const char* needed_for, const char* otherwise, const Outcome& outcome) {
  std::string result = outcome.works ? "yes" : "no";
  if (!outcome.works && outcome.error != 0) result += std::string(": ") + std::strerror(outcome.error);
  return {{"what", what},
          {"works", result},
          {"needed_for", needed_for},
          {"without_it", outcome.works ? "" : otherwise}};
}

Outcome probe_memory_file() {
  const size_t bytes = os::page_bytes();
  os::Descriptor file(os::create_sparse_memory("hearth_probe", bytes));
  if (!file.open()) return {false, errno};
  void* mapping = os::map_shared(file.number(), bytes);
  if (mapping == nullptr) return {false, errno};
  os::release(mapping, bytes);
  return {true, 0};
}

Outcome probe_xpmem() {
  const std::unique_ptr<os::XpmemDevice> device = os::open_xpmem();
  if (device == nullptr || device->publish() == 0) return {false, errno};
  return {true, 0};
}

struct ArenaOutcome {
  uint64_t slice_bytes = 0;  // 0: there is no arena
  std::string refusal;
};

ArenaOutcome probe_arena() {
  shm::Arena file;
  shm::Arena rank;
  const bool works = shm::Arena::create(2, file).ok() &&
                     shm::Arena::attach(os::duplicate_out_of_the_way(file.descriptor()), 2, 0, rank).ok();
  if (!works) return {0, last_failure_text()};
  return {rank.slice_bytes(), ""};
}

Json arena_row() {
  const ArenaOutcome outcome = probe_arena();
  const bool works = outcome.slice_bytes != 0;
  return {{"what", "an arena for two ranks"},
          {"works", works ? "yes: " + bytes_text(outcome.slice_bytes) + " of addresses each"
                          : "no: " + outcome.refusal},
          {"needed_for", "memory that ranks reach without the kernel"},
          {"without_it", works ? "" : "MPI_Alloc_mem gives ordinary memory"}};
}

Outcome probe_memory_binding() {
  const size_t bytes = os::page_bytes();
  void* page = os::reserve(bytes);
  if (page == nullptr) return {false, errno};
  const Outcome outcome = {os::prefer_node(page, bytes, 0), errno};
  os::release(page, bytes);
  return outcome;
}

Outcome probe_membarrier() {
  if (!os::membarrier_register()) return {false, errno};
  return {true, 0};
}

// The word has the same address in this process and in its children, but only a child stores the value.
volatile uint64_t probe_word = 0;

Outcome read_word(int pid) {
  uint64_t seen = 0;
  errno = 0;
  const intptr_t bytes = os::read_process(pid, &seen, const_cast<const uint64_t*>(&probe_word), sizeof seen);
  return {bytes == sizeof seen && seen == kWord, errno};
}

Outcome probe_self() {
  probe_word = kWord;
  const Outcome outcome = read_word(os::process_id());
  probe_word = 0;
  return outcome;
}

/// A child that holds the word until this object is destroyed.
class WordHolder {
 public:
  WordHolder() {
    os::Pipe ready, stay;
    if (!os::make_pipe(ready) || !os::make_pipe(stay)) return;
    pid_ = os::fork_process();
    char byte = 0;
    if (pid_ == 0) {
      ready.read_end.reset();
      stay.write_end.reset();
      probe_word = kWord;
      os::write_some(ready.write_end.number(), &byte, 1);
      os::read_some(stay.read_end.number(), &byte, 1);
      os::end_process(0);
    }
    ready.write_end.reset();
    stay_ = std::move(stay.write_end);
    if (pid_ > 0) os::read_some(ready.read_end.number(), &byte, 1);
  }
  ~WordHolder() {
    stay_.reset();
    if (pid_ > 0) os::reap(pid_);
  }
  WordHolder(const WordHolder&) = delete;
  WordHolder& operator=(const WordHolder&) = delete;
  int pid() const { return pid_; }

 private:
  os::Descriptor stay_;
  int pid_ = -1;
};

Outcome probe_child(const WordHolder& holder) {
  if (holder.pid() < 0) return {false, errno};
  return read_word(holder.pid());
}

/// Reads from one child in another, as between two ranks.
Outcome probe_sibling(const WordHolder& holder) {
  os::Pipe answer;
  if (holder.pid() < 0 || !os::make_pipe(answer)) return {false, errno};
  const int reader = os::fork_process();
  if (reader < 0) return {false, errno};
  Outcome outcome;
  if (reader == 0) {
    outcome = read_word(holder.pid());
    os::write_some(answer.write_end.number(), &outcome, sizeof outcome);
    os::end_process(0);
  }
  answer.write_end.reset();
  if (os::read_some(answer.read_end.number(), &outcome, sizeof outcome) != sizeof outcome) outcome = {};
  os::reap(reader);
  return outcome;
}

}  // namespace

Json probe_facts() {
  const WordHolder holder;
  Json facts = Json::array(
      {as_json("memfd_create, mapped", "memory files",
               "an unnamed file in a folder has the job's segment; long collectives go by messages",
               probe_memory_file()),
       as_json("mbind", "memory on a chosen node, where there are several",
               "memory lies near the processor that touches it first", probe_memory_binding()),
       as_json("membarrier", "sleeping without a fence in every send", "senders fence after each message",
               probe_membarrier()),
       arena_row(),
       as_json("process_vm_readv on itself", "single copy", "long messages are copied twice", probe_self()),
       as_json("process_vm_readv on a child", "single copy", "long messages are copied twice",
               probe_child(holder)),
       as_json("process_vm_readv between two children", "single copy", "long messages are copied twice",
               probe_sibling(holder))});
  // Few machines have this module, so its absence is not reported.
  if (os::path_exists(os::kXpmemDevice)) {
    facts.push_back(as_json("XPMEM", "single copy by plain loads", "single copy goes by process_vm_readv",
                            probe_xpmem()));
  }
  return facts;
}

std::string arena_refusal() {
  return probe_arena().refusal;
}

std::string single_copy_refusal() {
  if (probe_xpmem().works) return "";
  const WordHolder holder;
  const Outcome outcome = probe_sibling(holder);
  if (outcome.works) return "";
  return std::string("process_vm_readv: ") +
         (outcome.error != 0 ? std::strerror(outcome.error) : "wrong data");
}

}  // namespace hearth::tools
