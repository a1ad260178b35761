#include "abi/handle.h"

#include <gtest/gtest.h>

#include "datatype/predefined.h"

namespace hearth::abi {
namespace {

// Hides a constant from the compiler, which would warn about a pointer to no object.
template <class Handle, class Value>
[[gnu::noinline]] Handle opaque(Value value) {
  asm volatile("" : "+r"(value));
  return reinterpret_cast<Handle>(value);
}

TEST(Handle, PredefinedHandlesStandForTheirObjects) {
  ASSERT_NE(find<datatype::Type>(MPI_INT), nullptr);
  EXPECT_EQ(find<datatype::Type>(MPI_INT)->name, "MPI_INT");
  EXPECT_EQ(find<datatype::Type>(MPI_INT)->element, datatype::Element::int32);
  EXPECT_EQ(find<objects::Op>(MPI_MAXLOC)->kind, objects::OpKind::maxloc);
  EXPECT_EQ(find<objects::Errhandler>(MPI_ERRORS_ABORT)->kind, objects::ErrhandlerKind::errors_abort);
  EXPECT_EQ(find<objects::Group>(MPI_GROUP_EMPTY)->size(), 0);
  EXPECT_EQ(to_handle(find<datatype::Type>(MPI_DOUBLE)), MPI_DOUBLE);
}

TEST(Handle, NullAndForeignHandlesStandForNothing) {
  EXPECT_EQ(find<datatype::Type>(MPI_DATATYPE_NULL), nullptr);
  EXPECT_EQ(find<objects::Comm>(MPI_COMM_NULL), nullptr);
  EXPECT_EQ(find<objects::Group>(opaque<MPI_Group>(uintptr_t{0})), nullptr);
  EXPECT_EQ(find<objects::Group>(opaque<MPI_Group>(MPI_INT)), nullptr);
  EXPECT_EQ(find<datatype::Type>(opaque<MPI_Datatype>(MPI_SUM)), nullptr);
}

TEST(Handle, AnyValueMayBeExamined) {
  objects::Info* info = objects::pools.infos.create();
  const auto address = reinterpret_cast<uintptr_t>(info);
  for (const uintptr_t value :
       {uintptr_t{1}, uintptr_t{0x3ff}, uintptr_t{0x400}, uintptr_t{4095}, uintptr_t{4096}, address + 1,
        address + 8, address - sizeof *info, address + sizeof *info, ~uintptr_t{0}, ~uintptr_t{0} - 7}) {
    EXPECT_EQ(find<objects::Info>(reinterpret_cast<MPI_Info>(value)), nullptr) << std::hex << value;
  }
  EXPECT_EQ(find<objects::Info>(to_handle(info)), info);
  const MPI_Info handle = to_handle(info);
  objects::pools.infos.destroy(info);
  EXPECT_EQ(find<objects::Info>(handle), nullptr) << "a freed handle must not be found";
}

TEST(Handle, SizesOfPredefinedTypesFollowFromTheAbi) {
  // In these ranges the ABI encodes the size in the bits of the handle.
  int seen = 0;
  for (uint32_t value = 0x240; value < 0x300; ++value) {
    if (value >= 0x280 && value < 0x2c0) continue;
    const datatype::Type* type = datatype::predefined_type(value);
    if (type == nullptr || !type->supported) continue;
    EXPECT_EQ(type->size, int64_t{1} << ((value >> 3) & 7)) << type->name;
    EXPECT_EQ(type->extent, type->size) << type->name;
    ++seen;
  }
  EXPECT_GE(seen, 24);
}

TEST(Handle, PairTypesHaveTheLayoutOfC) {
  struct ShortInt {
    short value;
    int index;
  };
  struct DoubleInt {
    double value;
    int index;
  };
  const datatype::Type& short_int = *find<datatype::Type>(MPI_SHORT_INT);
  EXPECT_EQ(short_int.size, 6);
  EXPECT_EQ(short_int.extent, static_cast<int64_t>(sizeof(ShortInt)));
  EXPECT_EQ(short_int.true_extent, 8);
  EXPECT_FALSE(short_int.contiguous);
  const datatype::Type& double_int = *find<datatype::Type>(MPI_DOUBLE_INT);
  EXPECT_EQ(double_int.size, 12);
  EXPECT_EQ(double_int.extent, static_cast<int64_t>(sizeof(DoubleInt)));
  EXPECT_EQ(double_int.true_extent, 12);
  EXPECT_TRUE(find<datatype::Type>(MPI_2INT)->contiguous);
}

TEST(Handle, IntegersComeBack) {
  EXPECT_EQ(MPI_Type_toint(MPI_INT), 0x209);
  EXPECT_EQ(MPI_Type_fromint(0x209), MPI_INT);
  EXPECT_EQ(MPI_Op_toint(MPI_OP_NULL), 0x20);
  EXPECT_EQ(MPI_Op_fromint(0x20), MPI_OP_NULL);
  EXPECT_EQ(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)), MPI_WIN_NULL);
  EXPECT_EQ(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)), MPI_REQUEST_NULL);
  MPI_Info first, second;
  MPI_Info_create(&first);
  MPI_Info_create(&second);
  const int number = MPI_Info_toint(first);
  EXPECT_GE(number, 4096);
  EXPECT_NE(number, MPI_Info_toint(second));
  EXPECT_EQ(MPI_Info_fromint(number), first);
  MPI_Info_free(&first);
  EXPECT_EQ(MPI_Info_fromint(number), MPI_INFO_NULL);
  EXPECT_EQ(MPI_Info_fromint(-1), MPI_INFO_NULL);
  MPI_Info_free(&second);
}

}  // namespace
}  // namespace hearth::abi
