// File views, compared with the definition: byte by byte.
#include "io/view.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "datatype/construct.h"
#include "datatype/lifetime.h"
#include "datatype/predefined.h"
#include "mpi.h"

namespace hearth::io {
namespace {

Type& byte() {
  return datatype::predefined_type(MPI_BYTE);
}

/// A filetype of blocks (offset, bytes), freed with the object.
struct Filetype {
  Filetype(const std::vector<std::pair<int64_t, int64_t>>& blocks, int64_t extent) {
    std::vector<int64_t> lengths, places;
    for (const auto& [place, length] : blocks) {
      places.push_back(place);
      lengths.push_back(length);
    }
    Type* list = nullptr;
    EXPECT_TRUE(datatype::make_hindexed(static_cast<Count>(blocks.size()), lengths.data(), places.data(),
                                        byte(), Form::large, list)
                    .ok());
    EXPECT_TRUE(datatype::make_resized(*list, 0, extent, Form::large, type).ok());
    datatype::free_handle(*list);
  }
  ~Filetype() { datatype::free_handle(*type); }
  Filetype(const Filetype&) = delete;
  Filetype& operator=(const Filetype&) = delete;

  Type* type = nullptr;
};

Status make(const Filetype& filetype, int64_t displacement, std::shared_ptr<const View>& view,
            bool writable = true) {
  return View::make(displacement, byte(), *filetype.type, "native", writable, view);
}

TEST(View, RunsAreThoseOfTheDefinition) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<int64_t, int64_t>> blocks;
    std::vector<int64_t> places;  // of the data bytes of one tile
    int64_t at = draw(3);
    for (int64_t i = 1 + draw(40); i > 0; --i) {
      const int64_t length = 1 + draw(5);
      blocks.emplace_back(at, length);
      for (int64_t k = 0; k < length; ++k) places.push_back(at + k);
      at += length + draw(4);
    }
    const int64_t extent = at + draw(5);
    const int64_t displacement = draw(100);
    const Filetype filetype(blocks, extent);
    std::shared_ptr<const View> view;
    ASSERT_TRUE(make(filetype, displacement, view).ok()) << last_failure_text();
    const auto each = static_cast<int64_t>(places.size());
    const auto place = [&](int64_t data) {
      return displacement + data / each * extent + places[static_cast<size_t>(data % each)];
    };
    const int64_t from = draw(3 * each);
    const int64_t bytes = 1 + draw(4 * each);
    int64_t next = from;
    int64_t end_before = -1;
    view->for_each_run(from, bytes, [&](int64_t offset, int64_t length) {
      EXPECT_NE(offset, end_before) << "two runs that one would be";
      for (int64_t k = 0; k < length; ++k) EXPECT_EQ(place(next++), offset + k);
      end_before = offset + length;
      return true;
    });
    EXPECT_EQ(next, from + bytes);
    EXPECT_EQ(view->file_offset(from), place(from));
    const int64_t limit = draw(5 * extent);
    int64_t before = 0;
    while (place(before) < limit) ++before;
    EXPECT_EQ(view->data_before(limit), before);
  }
}

TEST(View, AVisitEndsEarly) {
  const Filetype filetype({{0, 1}, {2, 1}, {4, 1}}, 6);
  std::shared_ptr<const View> view;
  ASSERT_TRUE(make(filetype, 0, view).ok());
  int runs = 0;
  view->for_each_run(0, 9, [&](int64_t, int64_t) { return ++runs < 4; });
  EXPECT_EQ(runs, 4);
}

TEST(View, FiletypesGoForward) {
  std::shared_ptr<const View> view;
  EXPECT_EQ(make(Filetype({{4, 2}, {0, 2}}, 8), 0, view).error_class(), MPI_ERR_TYPE);
  EXPECT_EQ(make(Filetype({{-4, 2}}, 8), 0, view).error_class(), MPI_ERR_TYPE);
  EXPECT_EQ(make(Filetype({{0, 3}, {2, 2}}, 8), 0, view).error_class(), MPI_ERR_TYPE);
  EXPECT_TRUE(make(Filetype({{0, 3}, {2, 2}}, 8), 0, view, false).ok());
  EXPECT_EQ(make(Filetype({{0, 3}}, -8), 0, view).error_class(), MPI_ERR_TYPE);
  EXPECT_EQ(make(Filetype({{0, 3}}, 8), -1, view).error_class(), MPI_ERR_ARG);
  // Tiles that overlap: the columns of a matrix.
  ASSERT_TRUE(make(Filetype({{0, 1}, {10, 1}, {20, 1}}, 1), 0, view).ok());
  EXPECT_FALSE(view->increasing());
  EXPECT_EQ(view->file_offset(4), 11);
}

TEST(View, OffsetsBeyondTheFile) {
  const Filetype filetype({{0, 1}, {2, 1}}, 1 << 20);
  std::shared_ptr<const View> view;
  ASSERT_TRUE(make(filetype, 0, view).ok());
  int64_t offset = 0;
  EXPECT_TRUE(view->data_offset(1000, 1000, offset));
  EXPECT_FALSE(view->data_offset(INT64_MAX / 4, 1000, offset));
  EXPECT_FALSE(view->data_offset(INT64_MAX, INT64_MAX, offset));
}

}  // namespace
}  // namespace hearth::io
