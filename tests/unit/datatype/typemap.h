// Datatypes as the standard defines them: a list of basic elements with their displacements, and markers for
// bounds (MPI 5.0 section 5.1). Each constructor follows the standard literally, element by element, as a
// reference for the library's loops and blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "datatype/construct.h"
#include "mpi.h"

namespace hearth::datatype {

struct TypeMap {
  struct Entry {
    int64_t place;
    int64_t bytes;
    int64_t alignment;
  };
  std::vector<Entry> entries;
  std::vector<int64_t> lower_markers;
  std::vector<int64_t> upper_markers;

  static TypeMap basic(int64_t bytes, int64_t alignment) { return {{{0, bytes, alignment}}, {}, {}}; }

  void append(const TypeMap& other, int64_t displacement) {
    for (const Entry& entry : other.entries)
      entries.push_back({entry.place + displacement, entry.bytes, entry.alignment});
    for (const int64_t place : other.lower_markers) lower_markers.push_back(place + displacement);
    for (const int64_t place : other.upper_markers) upper_markers.push_back(place + displacement);
  }
  void append_block(const TypeMap& other, int64_t count, int64_t displacement) {
    for (int64_t i = 0; i < count; ++i) append(other, displacement + i * other.extent());
  }

  int64_t size() const {
    int64_t total = 0;
    for (const Entry& entry : entries) total += entry.bytes;
    return total;
  }
  int64_t true_lower_bound() const {
    int64_t low = entries.empty() ? 0 : INT64_MAX;
    for (const Entry& entry : entries) low = std::min(low, entry.place);
    return low;
  }
  int64_t true_upper_bound() const {
    int64_t high = entries.empty() ? 0 : INT64_MIN;
    for (const Entry& entry : entries) high = std::max(high, entry.place + entry.bytes);
    return high;
  }
  int64_t lower_bound() const {
    if (lower_markers.empty()) return true_lower_bound();
    return *std::min_element(lower_markers.begin(), lower_markers.end());
  }
  int64_t upper_bound() const {
    if (!upper_markers.empty()) return *std::max_element(upper_markers.begin(), upper_markers.end());
    int64_t alignment = 1;
    for (const Entry& entry : entries) alignment = std::max(alignment, entry.alignment);
    int64_t high = true_upper_bound();
    while ((high - lower_bound()) % alignment != 0) ++high;
    return high;
  }
  int64_t extent() const { return upper_bound() - lower_bound(); }
  void set_bounds(int64_t lower, int64_t extent) {
    lower_markers = {lower};
    upper_markers = {lower + extent};
  }
  /// The offset of every packed byte of one element.
  std::vector<int64_t> places() const {
    std::vector<int64_t> all;
    for (const Entry& entry : entries) {
      for (int64_t i = 0; i < entry.bytes; ++i) all.push_back(entry.place + i);
    }
    return all;
  }
};

/// Steps through all index tuples below `sizes`, in the order of the array; false after the last.
inline bool next_index(std::vector<int>& index, const std::vector<int>& sizes, int order) {
  const auto dimensions = static_cast<int>(sizes.size());
  for (int step = 0; step < dimensions; ++step) {
    const auto i = static_cast<size_t>(order == MPI_ORDER_C ? dimensions - 1 - step : step);
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

/// The position of an element in an array of `sizes`.
inline int64_t position_of(const std::vector<int>& index, const std::vector<int>& sizes, int order) {
  const auto dimensions = static_cast<int>(sizes.size());
  int64_t position = 0;
  for (int step = 0; step < dimensions; ++step) {
    const auto i = static_cast<size_t>(order == MPI_ORDER_C ? step : dimensions - 1 - step);
    position = position * sizes[i] + index[i];
  }
  return position;
}

inline int64_t elements_of(const std::vector<int>& sizes) {
  int64_t product = 1;
  for (const int size : sizes) product *= size;
  return product;
}

inline TypeMap subarray_map(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                            const std::vector<int>& starts, int order, const TypeMap& old) {
  TypeMap map;
  std::vector<int> index(sizes.size(), 0);
  do {
    std::vector<int> place = index;
    for (size_t i = 0; i < sizes.size(); ++i) place[i] += starts[i];
    map.append(old, position_of(place, sizes, order) * old.extent());
  } while (next_index(index, subsizes, order));
  map.set_bounds(0, elements_of(sizes) * old.extent());
  return map;
}

/// `blocks`: number of consecutive elements of a process in each dimension.
inline TypeMap darray_map(int rank, const std::vector<int>& sizes, const std::vector<int>& blocks,
                          const std::vector<int>& grid, int order, const TypeMap& old) {
  TypeMap map;
  std::vector<int> place(grid.size());
  for (size_t i = grid.size(); i-- > 0;) {
    place[i] = rank % grid[i];
    rank /= grid[i];
  }
  std::vector<int> index(sizes.size(), 0);
  do {
    bool mine = true;
    for (size_t i = 0; i < sizes.size(); ++i) mine = mine && index[i] / blocks[i] % grid[i] == place[i];
    if (mine) map.append(old, position_of(index, sizes, order) * old.extent());
  } while (next_index(index, sizes, order));
  map.set_bounds(0, elements_of(sizes) * old.extent());
  return map;
}

}  // namespace hearth::datatype
