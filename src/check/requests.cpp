#include "check/requests.h"

#include <algorithm>

namespace hearth::check {

// ---- buffers

void Requests::look_at(const Operation& operation) {
  if (operation.send.buffer.shared_with(operation.receive.buffer) != 0) {
    Finding finding;
    finding.kind = shm::CheckClass::buffer_overlap;
    finding.what = words_of(operation) + " on " + (operation.comm ? operation.comm->name : "?") +
                   " receives into memory that it sends from";
    finding.details = {"called by rank " + std::to_string(report_.rank()) + " at " +
                       report_.site_words(operation.site)};
    finding.why =
        "A buffer that is received into must share no memory with one that is sent from (MPI 5.0 sections "
        "3.10 and "
        "6.1). Remedy: MPI_IN_PLACE, MPI_Sendrecv_replace, or a second buffer";
    finding.key = mix(hash_of("alias"), hash_of(report_.site_words(operation.site)));
    report_.add(finding);
  }
  look_for_overlap(operation, operation.send.buffer, false);
  look_for_overlap(operation, operation.receive.buffer, true);
}

void Requests::look_for_overlap(const Operation& operation, const Buffer& buffer, bool writes) {
  if (buffer.empty() || intervals_.empty()) return;
  const auto [first, last] = buffer.bounds();
  const uintptr_t from = first > longest_ ? first - longest_ : 0;
  for (auto next = intervals_.lower_bound(from); next != intervals_.end() && next->first < last; ++next) {
    const Interval& interval = next->second;
    if (interval.last <= first || (!writes && !interval.written)) continue;
    const Operation& other = interval.pending->operation;
    const Buffer& theirs = interval.written ? other.receive.buffer : other.send.buffer;
    if (buffer.shared_with(theirs) == 0) continue;
    tell_overlap(operation, buffer, writes, other, interval.written);
    return;
  }
}

void Requests::tell_overlap(const Operation& operation, const Buffer& buffer, bool writes,
                            const Operation& other, bool other_writes) {
  Finding finding;
  finding.kind = shm::CheckClass::buffer_overlap;
  finding.what = words_of(operation) + (writes ? " receives into" : " sends from") + " memory that " +
                 (other_writes ? "a pending " : "is being sent by a pending ") + words_of(other) +
                 (other_writes ? " receives into" : "");
  finding.details = {"called by rank " + std::to_string(report_.rank()) + " at " +
                         report_.site_words(operation.site) + ", on " + words_of(buffer),
                     "pending since " + report_.site_words(other.site) + ", on " +
                         words_of(other_writes ? other.receive.buffer : other.send.buffer)};
  finding.why =
      "Until an operation is complete, its send buffer must not be written and its receive buffer not "
      "accessed "
      "(MPI 5.0 "
      "section 3.7.2). Remedy: complete it first, or use a buffer of its own";
  finding.key =
      mix(mix(hash_of(report_.site_words(operation.site)), hash_of(report_.site_words(other.site))), 1);
  report_.add(finding);
}

void Requests::activate(Pending& pending) {
  pending.active = true;
  const auto add = [&](const Buffer& buffer, bool written) {
    if (buffer.empty()) return;
    const auto [first, last] = buffer.bounds();
    longest_ = std::max(longest_, last - first);
    intervals_.emplace(first, Interval{last, &pending, written});
  };
  add(pending.operation.send.buffer, false);
  add(pending.operation.receive.buffer, true);
}

void Requests::deactivate(Pending& pending) {
  pending.active = false;
  for (const Buffer* buffer : {&pending.operation.send.buffer, &pending.operation.receive.buffer}) {
    if (buffer->empty()) continue;
    const auto range = intervals_.equal_range(buffer->bounds().first);
    for (auto next = range.first; next != range.second;) {
      next = next->second.pending == &pending ? intervals_.erase(next) : std::next(next);
    }
  }
  if (intervals_.empty()) longest_ = 0;
}

// ---- lifetime

PendingPointer Requests::make(Operation operation) {
  auto pending = std::make_shared<Pending>();
  pending->operation = std::move(operation);
  if (!pending->operation.send.buffer.empty()) pending->checksum = pending->operation.send.buffer.checksum();
  return pending;
}

void Requests::add(MPI_Request handle, const MPI_Request* variable, const PendingPointer& pending) {
  if (handle == MPI_REQUEST_NULL) return;
  pending->variable = variable;
  if (!pending->persistent) activate(*pending);
  pending_[handle].push_back(pending);
}

PendingPointer Requests::find(MPI_Request handle, const MPI_Request* variable) {
  const auto found = pending_.find(handle);
  if (found == pending_.end()) return nullptr;
  std::vector<PendingPointer>& all = found->second;
  if (all.size() == 1) return all.front();
  for (auto next = all.rbegin(); next != all.rend(); ++next) {
    if ((*next)->variable == variable) return *next;
  }
  for (const PendingPointer& each : all) each->ambiguous = true;
  return all.front();
}

void Requests::drop(MPI_Request handle, const PendingPointer& pending) {
  if (pending->active) deactivate(*pending);
  const auto found = pending_.find(handle);
  if (found == pending_.end()) return;
  std::erase(found->second, pending);
  if (found->second.empty()) pending_.erase(found);
}

void Requests::begin_messages(Pending& pending) {
  const Operation& operation = pending.operation;
  if (operation.send.present) {
    const Sent sent =
        messages_.send(operation.comm, operation.send.peer, operation.send.tag, operation.send.type,
                       operation.send.count, operation.call, operation.site);
    messages_.end_send(sent, false);
  }
  if (operation.receive.present && operation.comm != nullptr) {
    pending.posted =
        messages_.post(operation.comm, operation.receive.peer, operation.receive.tag, operation.receive.type,
                       operation.receive.count, operation.call, operation.site);
    messages_.end_post(*operation.comm);
  }
}

void Requests::start(MPI_Request handle) {
  const PendingPointer pending = find(handle, nullptr);
  if (pending == nullptr || !pending->persistent || pending->active) return;
  look_at(pending->operation);
  const Buffer& sent = pending->operation.send.buffer;
  pending->checksum = sent.empty() ? 0 : sent.checksum();
  begin_messages(*pending);
  activate(*pending);
}

void Requests::tell_if_changed(const Pending& pending, const char* end, const char* section) {
  const Operation& operation = pending.operation;
  if (pending.checksum == 0 || pending.ambiguous) return;
  if (operation.send.buffer.checksum() == pending.checksum) return;
  Finding finding;
  finding.kind = shm::CheckClass::buffer_changed;
  finding.what = "the buffer of " + words_of(operation) + " was changed before the operation was complete";
  finding.details = {"begun by rank " + std::to_string(report_.rank()) + " at " +
                     report_.site_words(operation.site) + ", on " + words_of(operation.send.buffer)};
  finding.why = std::string(
                    "What is being sent or written must not be changed until the operation is complete "
                    "(MPI 5.0 section ") +
                section + "): which values arrive is a matter of luck. Remedy: " + end +
                " before the buffer is used again, or another buffer";
  finding.key = mix(hash_of("changed"), hash_of(report_.site_words(operation.site)));
  report_.add(finding);
}

void Requests::begin_split(const Comm& file, const PendingPointer& pending) {
  splits_[&file] = pending;
  activate(*pending);
}

void Requests::end_split(const Comm& file) {
  const auto found = splits_.find(&file);
  if (found == splits_.end()) return;
  tell_if_changed(*found->second, "the second half of the access, such as MPI_File_write_all_end,", "14.4.5");
  deactivate(*found->second);
  splits_.erase(found);
}

void Requests::complete(MPI_Request handle, const MPI_Request* variable, const MPI_Status& status) {
  const PendingPointer pending = find(handle, variable);
  if (pending == nullptr || !pending->active) return;
  Operation& operation = pending->operation;
  tell_if_changed(*pending, "MPI_Wait", "3.7.2");
  if (pending->posted != nullptr && operation.comm != nullptr) {
    int cancelled = 0;
    PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled != 0 || status.MPI_SOURCE == MPI_PROC_NULL) {
      messages_.drop(*operation.comm, pending->posted);
    } else {
      messages_.match(*operation.comm, pending->posted, status.MPI_SOURCE, status.MPI_TAG);
    }
    pending->posted = nullptr;
  }
  deactivate(*pending);
  if (!pending->persistent) drop(handle, pending);
}

void Requests::free(MPI_Request handle, const MPI_Request* variable, uint32_t site) {
  const PendingPointer pending = find(handle, variable);
  if (pending == nullptr) return;
  const Operation& operation = pending->operation;
  const bool receives = pending->posted != nullptr;
  if (pending->active && (pending->persistent || receives)) {
    Finding finding;
    finding.kind = shm::CheckClass::request_lifecycle;
    finding.what = "the request of " + words_of(operation) + " was freed while it was active";
    finding.details = {"freed by rank " + std::to_string(report_.rank()) + " at " + report_.site_words(site),
                       "begun at " + report_.site_words(operation.site)};
    finding.why =
        "No call can determine any more when its buffer may be reused (MPI 5.0 sections 3.7.3 and 3.9). "
        "Remedy: MPI_Wait, "
        "or MPI_Cancel and MPI_Wait, before MPI_Request_free";
    finding.key = mix(hash_of("freed"), hash_of(report_.site_words(site)));
    report_.add(finding);
  }
  if (pending->active && receives) messages_.give_up(*operation.comm, pending->posted);
  drop(handle, pending);
}

void Requests::tell_left() {
  struct Left {
    const Pending* one;
    size_t number = 0;
  };
  std::map<std::pair<uint32_t, bool>, Left> left;
  for (const auto& [handle, all] : pending_) {
    for (const PendingPointer& pending : all) {
      Left& place = left[{pending->operation.site, pending->active}];
      place.one = pending.get();
      ++place.number;
      if (pending->posted != nullptr && pending->active) {
        messages_.give_up(*pending->operation.comm, pending->posted);
      }
    }
  }
  for (const auto& [place, entry] : left) {
    const Operation& operation = entry.one->operation;
    const std::string number = std::to_string(entry.number);
    Finding finding;
    finding.kind = shm::CheckClass::leak;
    finding.what = (entry.number == 1 ? "a request" : number + " requests") + " of " + words_of(operation) +
                   (place.second ? (entry.number == 1 ? " was" : " were") + std::string(" never completed")
                                 : (entry.number == 1 ? " was" : " were") + std::string(" never freed"));
    finding.details = {"made by rank " + std::to_string(report_.rank()) + " at " +
                       report_.site_words(operation.site)};
    finding.why =
        place.second
            ? "Each operation that was begun has to be completed before MPI_Finalize (MPI 5.0 section "
              "11.2.2). "
              "Remedy: MPI_Wait or MPI_Test until it is; a variable that holds a request must not be used "
              "for "
              "another one before"
            : "A persistent request stays until it is freed (MPI 5.0 section 3.9). Remedy: MPI_Request_free";
    finding.key = mix(hash_of("left"), hash_of(report_.site_words(operation.site)));
    report_.add(finding, true);
  }
}

}  // namespace hearth::check
