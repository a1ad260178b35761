// Per-process state of the parts of one engine: tables indexed by PeerIndex, which grow when the job connects
// to another one (MPI_Comm_spawn, MPI_Comm_accept). Elements keep their addresses, because calls hold
// references while other threads run.
//
// A PeerSet knows all tables of an engine. Growing and renewing go through it, so no part needs a function
// for them. Under the library's lock. The memory is private to the process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "base/os_memory.h"
#include "base/peer_index.h"

namespace hearth {

/// One table, without its type.
class PeerTableBase {
 public:
  virtual ~PeerTableBase() = default;
  /// False if memory is exhausted or the table has no more room.
  virtual bool grow(size_t count) = 0;
  virtual void renew(PeerIndex peer) = 0;
};

class PeerSet {
 public:
  /// `most`: the number of processes up to which the set may grow; 0: it does not grow.
  explicit PeerSet(int count, int most = 0) : count_(count), most_(std::max(count, most)) {}

  int count() const { return count_; }
  int most() const { return most_; }
  void add(PeerTableBase& table) { tables_.push_back(&table); }
  size_t tables() const { return tables_.size(); }
  /// Adds one process to all tables; false if there is no room.
  bool grow() {
    if (count_ == most_) return false;
    const auto wanted = static_cast<size_t>(count_) + 1;
    const bool grown = std::all_of(tables_.begin(), tables_.end(),
                                   [wanted](PeerTableBase* table) { return table->grow(wanted); });
    if (grown) ++count_;
    return grown;
  }
  /// Returns the state of a process to the initial one, so that another process can get its index.
  void renew(PeerIndex peer) {
    for (PeerTableBase* table : tables_) table->renew(peer);
  }

 private:
  int count_;
  const int most_;
  std::vector<PeerTableBase*> tables_;
};

/// The number of processes for which a part has state: fixed, or that of a set.
struct PeerRoom {
  PeerRoom(int fixed) : count(fixed), most(fixed) {}
  PeerRoom(PeerSet& growing) : count(growing.count()), most(growing.most()), set(&growing) {}

  int count;
  int most;
  PeerSet* set = nullptr;
};

template <class T>
class PeerTable final : public PeerTableBase {
 public:
  explicit PeerTable(const PeerRoom& room) {
    const auto count = static_cast<size_t>(room.count);
    if (room.set != nullptr && room.most > room.count) {
      reserve(static_cast<size_t>(room.most), room.set->tables() * kOffsetBytes % os::page_bytes());
    }
    // If it cannot grow, or the address space is limited.
    if (elements_ == nullptr) {
      elements_ = static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
      room_ = count;
    }
    if (!PeerTable::grow(count)) throw std::bad_alloc();
    if (room.set != nullptr) room.set->add(*this);
  }
  ~PeerTable() override {
    for (T& element : *this) element.~T();
    if (reserved_bytes_ > 0) {
      os::release(reserved_, reserved_bytes_);
    } else {
      ::operator delete(elements_, kAlignment);
    }
  }
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  T& operator[](size_t index) { return elements_[index]; }
  const T& operator[](size_t index) const { return elements_[index]; }
  size_t size() const { return size_; }
  T* begin() { return elements_; }
  T* end() { return elements_ + size_; }
  const T* begin() const { return elements_; }
  const T* end() const { return elements_ + size_; }

  bool grow(size_t count) override {
    if (count > room_) return false;
    if (reserved_bytes_ > 0 && offset() + count * sizeof(T) > committed_bytes_) {
      const size_t bytes = pages(offset() + count * sizeof(T));
      if (!os::commit(reserved_ + committed_bytes_, bytes - committed_bytes_)) return false;
      committed_bytes_ = bytes;
    }
    for (; size_ < count; ++size_) new (elements_ + size_) T();
    return true;
  }
  void renew(PeerIndex peer) override {
    T& element = elements_[static_cast<size_t>(peer)];
    element.~T();
    new (&element) T();
  }

 private:
  static constexpr std::align_val_t kAlignment{std::max(alignof(T), alignof(std::max_align_t))};
  // Each table of a set begins at another line of its first page: at the same one, the elements of a process
  // in all tables would compete for one set of the first-level cache.
  static constexpr size_t kOffsetBytes = 192;
  static_assert(kOffsetBytes % alignof(T) == 0);

  static size_t pages(size_t bytes) {
    const size_t page = os::page_bytes();
    return (bytes + page - 1) / page * page;
  }

  size_t offset() const { return static_cast<size_t>(reinterpret_cast<std::byte*>(elements_) - reserved_); }

  void reserve(size_t most, size_t offset) {
    const size_t bytes = pages(offset + most * sizeof(T));
    reserved_ = static_cast<std::byte*>(os::reserve(bytes));
    if (reserved_ == nullptr) return;
    elements_ = reinterpret_cast<T*>(reserved_ + offset);
    reserved_bytes_ = bytes;
    room_ = most;
  }

  T* elements_ = nullptr;
  std::byte* reserved_ = nullptr;
  size_t reserved_bytes_ = 0;  // 0: allocated by new
  size_t committed_bytes_ = 0;
  size_t room_ = 0;
  size_t size_ = 0;
};

}  // namespace hearth
