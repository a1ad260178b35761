// Temporary memory of the collectives. Short ones get by with what lies inside the object, on the stack; long
// ones are allocated, and an exhausted memory is an error of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "mpi.h"

namespace hearth::coll {

/// Bytes.
class Scratch {
 public:
  Scratch() {}  // NOLINT(modernize-use-equals-default): must not clear the bytes
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// To be called once.
  Status reserve(int64_t bytes) {
    if (bytes <= static_cast<int64_t>(sizeof own_)) return {};
    heap_.reset(new (std::nothrow) std::byte[static_cast<size_t>(bytes)]);
    if (heap_ != nullptr) return {};
    return fail(MPI_ERR_NO_MEM, "no memory for %lld bytes of intermediate results",
                static_cast<long long>(bytes));
  }
  std::byte* data() { return heap_ != nullptr ? heap_.get() : own_; }

 private:
  static constexpr size_t kOwnBytes = 2048;

  std::unique_ptr<std::byte[]> heap_;
  alignas(64) std::byte own_[kOwnBytes];
};

/// Elements of a datatype, as they lie in a user's buffer.
class ScratchElements {
 public:
  Status reserve(const datatype::Type& type, Count count) {
    const datatype::Span span = datatype::span_of(type, count);
    lowest_ = span.lowest;
    return bytes_.reserve(span.bytes);
  }
  /// The address that stands for the elements in calls; data may lie before and after it.
  std::byte* data() { return bytes_.data() - lowest_; }

 private:
  Scratch bytes_;
  int64_t lowest_ = 0;
};

/// The data of elements one after another: in place where they lie so, else in a copy.
class Packed {
 public:
  /// To send from.
  Status from(const void* buffer, Count count, const datatype::Type& type) {
    HEARTH_TRY(to(const_cast<void*>(buffer), count, type));
    if (target_ != nullptr)
      datatype::pack(type, buffer, count, 0, data_, static_cast<size_t>(count * type.size));
    target_ = nullptr;
    return {};
  }
  /// To receive into; unpack() brings what came to its place.
  Status to(void* buffer, Count count, const datatype::Type& type) {
    if (type.contiguous) {
      data_ = static_cast<std::byte*>(buffer) + type.true_lower_bound;
      return {};
    }
    HEARTH_TRY(bytes_.reserve(count * type.size));
    data_ = bytes_.data();
    target_ = buffer;
    count_ = count;
    type_ = &type;
    return {};
  }
  void unpack() {
    if (target_ == nullptr) return;
    datatype::unpack(*type_, target_, count_, 0, data_, static_cast<size_t>(count_ * type_->size));
  }
  std::byte* data() { return data_; }

 private:
  Scratch bytes_;
  std::byte* data_ = nullptr;
  void* target_ = nullptr;
  Count count_ = 0;
  const datatype::Type* type_ = nullptr;
};

}  // namespace hearth::coll
