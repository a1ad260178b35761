// Constructors and packing, compared with the standard's definition of a type map: chosen cases, then
// thousands of random types made of random types.
#include "datatype/construct.h"

#include <gtest/gtest.h>

#include <climits>
#include <map>
#include <random>

#include "datatype/lifetime.h"
#include "datatype/pool.h"
#include "datatype/predefined.h"
#include "datatype/signature.h"
#include "typemap.h"

namespace hearth::datatype {
namespace {

Type& predefined(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

/// A type and its expected type map. Holds a reference.
struct Sample {
  Type* type = nullptr;
  TypeMap map;
  std::string history;
};

Sample basic(MPI_Datatype handle, int64_t alignment) {
  Type& type = predefined(handle);
  retain(type);
  return {&type, TypeMap::basic(type.size, alignment), type.name};
}

Sample pair(MPI_Datatype handle, int64_t first, int64_t second_place, int64_t second, int64_t alignment) {
  Type& type = predefined(handle);
  retain(type);
  return {&type, {{{0, first, alignment}, {second_place, second, 1}}, {}, {}}, type.name};
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    samples_ = {basic(MPI_CHAR, 1),
                basic(MPI_SHORT, 2),
                basic(MPI_INT, 4),
                basic(MPI_DOUBLE, 8),
                basic(MPI_LONG_DOUBLE, 16),
                basic(MPI_C_FLOAT_COMPLEX, 4),
                pair(MPI_SHORT_INT, 2, 4, 4, 4),
                pair(MPI_DOUBLE_INT, 8, 8, 4, 8)};
  }
  ~Generator() {
    for (Sample& sample : samples_) release(*sample.type);
  }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  int between(int low, int high) { return low + below(high - low + 1); }

  /// Another random type made of earlier ones, small enough to be listed.
  Sample& next() {
    for (;;) {
      Sample made = make();
      EXPECT_NE(made.type, nullptr) << made.history;
      if (made.map.entries.size() <= 600) {
        samples_.push_back(made);
        return samples_.back();
      }
      release(*made.type);
    }
  }

 private:
  Sample& any() {
    // Prefers later types, which are more deeply nested.
    const auto size = static_cast<int>(samples_.size());
    return samples_[static_cast<size_t>(std::max(below(size), below(size)))];
  }

  Sample make() {
    Sample& old = any();
    Sample made;
    form_ = below(2) == 0 ? Form::small : Form::large;
    const int constructor = below(12);
    switch (constructor) {
      case 0:
        make_repeated(old, made);
        break;
      case 1:
      case 2:
        make_strided(old, made, constructor == 2);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        make_listed(old, made, constructor >= 5, constructor % 2 == 0);
        break;
      case 7:
      case 8:
        make_structure(made);
        break;
      case 9:
        make_sub(old, made);
        break;
      case 10:
        make_distributed(old, made);
        break;
      default:
        make_bounded(old, made);
        break;
    }
    return made;
  }

  void make_repeated(Sample& old, Sample& made) {
    const int count = below(6);
    EXPECT_TRUE(make_contiguous(count, *old.type, form_, made.type).ok());
    made.map.append_block(old.map, count, 0);
    made.history = "contiguous(" + std::to_string(count) + ", " + old.history + ")";
  }

  void make_strided(Sample& old, Sample& made, bool in_bytes) {
    const int count = below(5);
    const int length = below(4);
    const int stride = between(-6, 9) * (in_bytes ? 7 : 1);
    const Status status = in_bytes ? make_hvector(count, length, stride, *old.type, form_, made.type)
                                   : make_vector(count, length, stride, *old.type, form_, made.type);
    EXPECT_TRUE(status.ok());
    for (int i = 0; i < count; ++i)
      made.map.append_block(old.map, length, i * stride * (in_bytes ? 1 : old.map.extent()));
    made.history = std::string(in_bytes ? "h" : "") + "vector(" + std::to_string(count) + ", " +
                   std::to_string(length) + ", " + std::to_string(stride) + ", " + old.history + ")";
  }

  void make_listed(Sample& old, Sample& made, bool in_bytes, bool equal) {
    const int count = below(9);
    const bool regular = below(3) == 0;
    const int first = between(-5, 10);
    const int common = below(4);
    std::vector<int> lengths;
    std::vector<int64_t> places;
    for (int i = 0; i < count; ++i) {
      lengths.push_back(equal || regular ? common : below(4));
      places.push_back(regular ? first + 6 * i : between(-20, 40));
    }
    const std::vector<int> short_places(places.begin(), places.end());
    Status status;
    if (in_bytes && equal) {
      status = make_hindexed_block(count, common, places.data(), *old.type, form_, made.type);
    } else if (in_bytes) {
      status = make_hindexed(count, lengths.data(), places.data(), *old.type, form_, made.type);
    } else if (equal) {
      status = make_indexed_block(count, common, short_places.data(), *old.type, form_, made.type);
    } else {
      status = make_indexed(count, lengths.data(), short_places.data(), *old.type, form_, made.type);
    }
    EXPECT_TRUE(status.ok());
    made.history = std::string(in_bytes ? "h" : "") + "indexed(";
    for (size_t i = 0; i < lengths.size(); ++i) {
      made.map.append_block(old.map, lengths[i], places[i] * (in_bytes ? 1 : old.map.extent()));
      made.history += std::to_string(lengths[i]) + " at " + std::to_string(places[i]) + ", ";
    }
    made.history += old.history + ")";
  }

  void make_structure(Sample& made) {
    const int count = below(5);
    std::vector<int> lengths;
    std::vector<int64_t> places;
    std::vector<Type*> types;
    made.history = "struct(";
    int64_t after = 0;
    for (int i = 0; i < count; ++i) {
      Sample& old = any();
      lengths.push_back(below(4));
      // Often directly behind the previous member.
      places.push_back(below(2) == 0 ? after : between(-40, 200));
      types.push_back(old.type);
      made.map.append_block(old.map, lengths.back(), places.back());
      after = made.map.true_upper_bound();
      made.history +=
          std::to_string(lengths.back()) + " at " + std::to_string(places.back()) + " " + old.history + ", ";
    }
    made.history += ")";
    EXPECT_TRUE(make_struct(lengths.data(), places.data(), types, form_, made.type).ok());
  }

  void make_sub(Sample& old, Sample& made) {
    const int dimensions = between(1, 4);
    const int order = below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int> sizes;
    std::vector<int> subsizes;
    std::vector<int> starts;
    made.history = "subarray(";
    for (int i = 0; i < dimensions; ++i) {
      sizes.push_back(between(1, 5));
      subsizes.push_back(between(1, sizes.back()));
      starts.push_back(below(sizes.back() - subsizes.back() + 1));
      made.history += std::to_string(starts.back()) + "+" + std::to_string(subsizes.back()) + " of " +
                      std::to_string(sizes.back()) + ", ";
    }
    made.history += old.history + ")";
    EXPECT_TRUE(make_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(), order, *old.type,
                              form_, made.type)
                    .ok());
    made.map = subarray_map(sizes, subsizes, starts, order, old.map);
  }

  void make_distributed(Sample& old, Sample& made) {
    const int dimensions = between(1, 3);
    const int order = below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int> sizes;
    std::vector<int> grid;
    std::vector<int> kinds;
    std::vector<int> arguments;
    std::vector<int> blocks;
    int processes = 1;
    made.history = "darray(";
    for (int i = 0; i < dimensions; ++i) {
      const int size = between(1, 7);
      sizes.push_back(size);
      const int kind = below(5);
      grid.push_back(kind == 0 ? 1 : between(1, 3));
      processes *= grid.back();
      const int even = (size + grid.back() - 1) / grid.back();
      kinds.push_back(kind == 0   ? MPI_DISTRIBUTE_NONE
                      : kind <= 2 ? MPI_DISTRIBUTE_BLOCK
                                  : MPI_DISTRIBUTE_CYCLIC);
      const bool by_default = kind == 0 || kind == 1 || kind == 3;
      blocks.push_back(kind == 0   ? size
                       : kind == 1 ? even
                       : kind == 2 ? even + below(3)
                       : kind == 3 ? 1
                                   : between(1, 4));
      arguments.push_back(by_default ? MPI_DISTRIBUTE_DFLT_DARG : blocks.back());
      made.history += std::to_string(size) + " by " + std::to_string(blocks.back()) + " on " +
                      std::to_string(grid.back()) + ", ";
    }
    const int rank = below(processes);
    made.history += "rank " + std::to_string(rank) + ", " + old.history + ")";
    const DistributedArray array = {.processes = processes,
                                    .rank = rank,
                                    .dimensions = dimensions,
                                    .sizes = sizes.data(),
                                    .distributions = kinds.data(),
                                    .arguments = arguments.data(),
                                    .grid = grid.data(),
                                    .order = order};
    EXPECT_TRUE(make_darray(array, *old.type, form_, made.type).ok()) << made.history;
    made.map = darray_map(rank, sizes, blocks, grid, order, old.map);
  }

  void make_bounded(Sample& old, Sample& made) {
    const int lower = between(-30, 30);
    const int extent = between(-10, 90);
    if (below(3) == 0) {
      EXPECT_TRUE(make_duplicate(*old.type, made.type).ok());
      made.map = old.map;
      made.history = "dup(" + old.history + ")";
      return;
    }
    EXPECT_TRUE(make_resized(*old.type, lower, extent, form_, made.type).ok());
    made.map = old.map;
    made.map.set_bounds(lower, extent);
    made.history =
        "resized(" + std::to_string(lower) + ", " + std::to_string(extent) + ", " + old.history + ")";
  }

  std::mt19937 random_;
  std::vector<Sample> samples_;
  Form form_ = Form::small;
};

void expect_bounds(const Sample& sample) {
  const Type& type = *sample.type;
  const TypeMap& map = sample.map;
  EXPECT_EQ(type.size, map.size()) << sample.history;
  EXPECT_EQ(type.true_lower_bound, map.true_lower_bound()) << sample.history;
  EXPECT_EQ(type.true_extent, map.true_upper_bound() - map.true_lower_bound()) << sample.history;
  EXPECT_EQ(type.lower_bound, map.lower_bound()) << sample.history;
  EXPECT_EQ(type.extent, map.extent()) << sample.history;
}

/// Packs and unpacks two elements in pieces.
void expect_packing(const Sample& sample, Generator& random) {
  const Type& type = *sample.type;
  constexpr Count kCount = 2;
  const Span span = span_of(type, kCount);
  std::vector<unsigned char> memory(static_cast<size_t>(span.bytes));
  for (auto& byte : memory) byte = static_cast<unsigned char>(random.below(256));
  unsigned char* const buffer = memory.data() - span.lowest;
  const std::vector<int64_t> places = sample.map.places();
  std::vector<int64_t> all;
  for (Count i = 0; i < kCount; ++i) {
    for (const int64_t place : places) all.push_back(i * type.extent + place);
  }
  std::vector<unsigned char> packed(all.size());
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.size(), begin + static_cast<size_t>(random.between(1, 90)));
    pack(type, buffer, static_cast<int64_t>(begin), packed.data() + begin, end - begin);
    begin = end;
  }
  for (size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(packed[i], buffer[all[i]]) << "packed byte " << i << " of " << sample.history;

  // Unpacks only if no byte of memory belongs to two elements.
  std::map<int64_t, int> uses;
  for (const int64_t place : all) {
    if (++uses[place] > 1) return;
  }
  std::vector<unsigned char> want = memory;
  for (size_t i = 0; i < all.size(); ++i) {
    packed[i] = static_cast<unsigned char>(random.below(256));
    want[static_cast<size_t>(all[i] - span.lowest)] = packed[i];
  }
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.size(), begin + static_cast<size_t>(random.between(1, 400)));
    unpack(type, buffer, static_cast<int64_t>(begin), packed.data() + begin, end - begin);
    begin = end;
  }
  ASSERT_EQ(memory, want) << sample.history;
}

/// Checks the counts of basic elements in any number of bytes.
void expect_signature(const Sample& sample) {
  const Type& type = *sample.type;
  if (type.size == 0) return;
  EXPECT_EQ(basics_in(type), static_cast<Count>(sample.map.entries.size())) << sample.history;
  int64_t bytes = 0;
  Count basics = 0;
  for (int element = 0; element < 2; ++element) {
    for (const TypeMap::Entry& entry : sample.map.entries) {
      Count got = -1;
      ASSERT_TRUE(basics_in_bytes(type, bytes, got)) << bytes << " bytes of " << sample.history;
      ASSERT_EQ(got, basics) << bytes << " bytes of " << sample.history;
      int64_t bytes_back = 0;
      ASSERT_TRUE(bytes_of_basics(type, basics, bytes_back));
      ASSERT_EQ(bytes_back, bytes) << basics << " elements of " << sample.history;
      if (entry.bytes > 1) {
        ASSERT_FALSE(basics_in_bytes(type, bytes + 1, got)) << bytes + 1 << " bytes of " << sample.history;
      }
      bytes += entry.bytes;
      ++basics;
    }
  }
}

TEST(Constructors, FollowTheDefinition) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Generator random(seed);
    for (int i = 0; i < 60; ++i) {
      const Sample& sample = random.next();
      expect_bounds(sample);
      expect_packing(sample, random);
      expect_signature(sample);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_EQ(pool.live(), 0u);
}

/// Makes a type, passes it to `look`, and frees it.
template <class Make, class Look>
void with_type(const Make& make, const Look& look) {
  Type* made = nullptr;
  ASSERT_TRUE(make(made).ok()) << last_failure_text();
  look(*made);
  release(*made);
}

TEST(Layouts, KeepLoops) {
  Type& real = predefined(MPI_DOUBLE);
  // A matrix column, several of them, and the whole matrix column by column.
  with_type([&](Type*& made) { return make_vector(1000, 1, 1000, real, Form::small, made); },
            [&](Type& column) {
              EXPECT_EQ(column.layout->loops.size(), 1u);
              EXPECT_EQ(column.layout->blocks.size(), 1u);
              with_type([&](Type*& made) { return make_hvector(1000, 1, 8, column, Form::small, made); },
                        [&](Type& matrix) {
                          EXPECT_EQ(matrix.layout->loops.size(), 2u);
                          EXPECT_EQ(matrix.layout->blocks.size(), 1u);
                        });
            });
  // Displacements at equal distances form a vector.
  std::vector<int> places;
  for (int i = 0; i < 1000; ++i) places.push_back(3 * i);
  with_type([&](Type*& made) { return make_indexed_block(1000, 1, places.data(), real, Form::small, made); },
            [](Type& type) {
              EXPECT_EQ(type.layout->loops.size(), 1u);
              EXPECT_EQ(type.layout->blocks.size(), 1u);
            });
  // Adjacent blocks are merged; a vector without gaps is contiguous.
  const int lengths[] = {2, 3, 4};
  const int touching[] = {0, 2, 5};
  with_type([&](Type*& made) { return make_indexed(3, lengths, touching, real, Form::small, made); },
            [](Type& type) { EXPECT_TRUE(type.contiguous); });
  with_type([&](Type*& made) { return make_vector(100, 3, 3, real, Form::small, made); },
            [](Type& type) { EXPECT_TRUE(type.contiguous); });
  // Two full planes of a cube are one run.
  const int sizes[] = {10, 10, 10};
  const int subsizes[] = {2, 10, 10};
  const int starts[] = {3, 0, 0};
  with_type(
      [&](Type*& made) {
        return make_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, real, Form::small, made);
      },
      [](Type& type) { EXPECT_TRUE(type.layout->one_block()); });
  // A struct of two columns has two parts, not two thousand blocks.
  with_type([&](Type*& made) { return make_vector(1000, 1, 2, real, Form::small, made); },
            [&](Type& column) {
              Type* const members[] = {&column, &column};
              const int once[] = {1, 2};
              const int64_t at[] = {0, 100000};
              with_type([&](Type*& made) { return make_struct(once, at, members, Form::small, made); },
                        [](Type& type) { EXPECT_EQ(type.layout->parts.size(), 2u); });
            });
}

TEST(Bounds, GivenOnesCountInsteadOfTheData) {
  // MPI 5.0 section 5.1.6: a member's markers are the bounds of the whole type, even if data lie beyond them.
  with_type([&](Type*& made) { return make_resized(predefined(MPI_INT), -3, 9, Form::small, made); },
            [](Type& bounded) {
              Type* const members[] = {&bounded, &predefined(MPI_INT)};
              const int lengths[] = {1, 1};
              const int64_t places[] = {0, 100};
              with_type([&](Type*& made) { return make_struct(lengths, places, members, Form::small, made); },
                        [](Type& type) {
                          EXPECT_EQ(type.lower_bound, -3);
                          EXPECT_EQ(type.extent, 9);
                          EXPECT_EQ(type.true_lower_bound, 0);
                          EXPECT_EQ(type.true_extent, 104);
                        });
            });
}

TEST(Bounds, NaturalOnesKeepElementsAligned) {
  Type* const members[] = {&predefined(MPI_DOUBLE), &predefined(MPI_CHAR)};
  const int lengths[] = {1, 1};
  const int64_t places[] = {0, 8};
  with_type([&](Type*& made) { return make_struct(lengths, places, members, Form::small, made); },
            [](Type& type) {
              EXPECT_EQ(type.extent, 16);
              EXPECT_EQ(type.true_extent, 9);
            });
}

TEST(Contents, AreThoseOfTheFormThatWasCalled) {
  Type& real = predefined(MPI_DOUBLE);
  const int lengths[] = {1, 2};
  const int64_t places[] = {0, 64};
  Type* const members[] = {&real, &real};
  with_type([&](Type*& made) { return make_struct(lengths, places, members, Form::small, made); },
            [](Type& type) {
              EXPECT_EQ(type.integers, (std::vector<int>{2, 1, 2}));
              EXPECT_EQ(type.addresses, (std::vector<int64_t>{0, 64}));
              EXPECT_TRUE(type.counts.empty());
            });
  with_type([&](Type*& made) { return make_struct(lengths, places, members, Form::large, made); },
            [](Type& type) {
              EXPECT_EQ(type.counts, (std::vector<int64_t>{2, 1, 2, 0, 64}));
              EXPECT_TRUE(type.integers.empty());
              EXPECT_TRUE(type.addresses.empty());
            });
  const int sizes[] = {4, 5};
  const int subsizes[] = {2, 3};
  const int starts[] = {1, 2};
  with_type(
      [&](Type*& made) {
        return make_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, real, Form::large, made);
      },
      [](Type& type) {
        EXPECT_EQ(type.integers, (std::vector<int>{2, MPI_ORDER_C}));
        EXPECT_EQ(type.counts, (std::vector<int64_t>{4, 5, 2, 3, 1, 2}));
      });
}

TEST(Constructors, NameTheEntryThatIsWrong) {
  Type& real = predefined(MPI_DOUBLE);
  Type* made = nullptr;
  const auto expect = [&](const Status status, int error_class, const char* words) {
    EXPECT_EQ(status.error_class(), error_class);
    EXPECT_NE(std::string(last_failure_text()).find(words), std::string::npos) << last_failure_text();
    EXPECT_EQ(made, nullptr);
  };
  const int good[] = {1, 1, 1};
  const int none[] = {0, 0, 0};
  const int negative[] = {1, 1, -4};
  const int64_t far[] = {0, 8, INT64_MAX};
  const int sizes[] = {4, 4, 4};
  const int subsizes[] = {4, 5, 4};
  const int starts[] = {0, 0, 4};
  Type* const members[] = {&real, &real, &real};
  expect(make_indexed(3, negative, good, real, Form::small, made), MPI_ERR_ARG,
         "array_of_blocklengths[2] is -4");
  expect(make_struct(negative, far, members, Form::small, made), MPI_ERR_ARG,
         "array_of_blocklengths[2] is -4");
  expect(make_hindexed(3, good, far, real, Form::small, made), MPI_ERR_VALUE_TOO_LARGE, "64 bits");
  expect(make_indexed_block(3, 1, far, real, Form::small, made), MPI_ERR_VALUE_TOO_LARGE, "64 bits");
  expect(make_vector(INT64_MAX, 1, 2, real, Form::large, made), MPI_ERR_VALUE_TOO_LARGE, "64 bits");
  expect(make_subarray(0, sizes, good, good, MPI_ORDER_C, real, Form::small, made), MPI_ERR_ARG,
         "ndims is 0");
  expect(make_subarray(3, sizes, subsizes, none, MPI_ORDER_C, real, Form::small, made), MPI_ERR_ARG,
         "array_of_subsizes[1] is 5");
  expect(make_subarray(3, sizes, good, starts, MPI_ORDER_C, real, Form::small, made), MPI_ERR_ARG,
         "array_of_starts[2] is 4");
  expect(make_subarray(3, sizes, good, none, 7, real, Form::small, made), MPI_ERR_ARG, "order is 7");
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[] = {2, 2, 1};
  const DistributedArray array = {4, 3, 3, sizes, kinds, arguments, grid, MPI_ORDER_C};
  DistributedArray wrong = array;
  wrong.processes = 5;
  expect(make_darray(wrong, real, Form::small, made), MPI_ERR_ARG, "array_of_psizes is 4, but size is 5");
  wrong = array;
  wrong.rank = 4;
  expect(make_darray(wrong, real, Form::small, made), MPI_ERR_ARG, "rank is 4");
  const int short_blocks[] = {1, 1, 1};
  wrong = array;
  wrong.arguments = short_blocks;
  expect(make_darray(wrong, real, Form::small, made), MPI_ERR_ARG, "array_of_dargs[0] is 1");
  const int undivided[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
  wrong = array;
  wrong.distributions = undivided;
  expect(make_darray(wrong, real, Form::small, made), MPI_ERR_ARG, "array_of_psizes[0] is 2");
}

TEST(Constructors, TakeMoreElementsThanIntCanCount) {
  constexpr Count kMany = Count{3} << 30;
  with_type([&](Type*& made) { return make_vector(kMany, 1, 2, predefined(MPI_CHAR), Form::large, made); },
            [&](Type& type) {
              EXPECT_EQ(type.size, kMany);
              EXPECT_EQ(type.extent, 2 * kMany - 1);
              EXPECT_EQ(type.layout->loops[0].count, kMany);
              Count basics = 0;
              EXPECT_TRUE(basics_in_bytes(type, 5 * kMany - 7, basics));
              EXPECT_EQ(basics, 5 * kMany - 7);
            });
}

}  // namespace
}  // namespace hearth::datatype
