#include "check/ledger.h"

#include <gtest/gtest.h>

namespace hearth::check {
namespace {

constexpr uint64_t kOne = 0x10000;
constexpr uint64_t kOther = 0x20000;
const int places[2] = {};

MadeBy made(abi::Call call, int place) {
  return {call, &places[place]};
}

TEST(Ledger, tells_what_is_left_by_place) {
  Ledger ledger;
  ledger.add(ObjectKind::type, kOne, made(abi::Call::type_dup, 0));
  ledger.add(ObjectKind::type, kOther, made(abi::Call::type_dup, 0));
  ledger.add(ObjectKind::comm, kOther + 64, made(abi::Call::comm_dup, 1));
  auto left = ledger.left(false);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].kind, ObjectKind::comm);
  EXPECT_EQ(left[1].number, 2u);
  EXPECT_TRUE(ledger.remove(ObjectKind::type, kOne));
  EXPECT_TRUE(ledger.remove(ObjectKind::comm, kOther + 64));
  left = ledger.left(false);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].number, 1u);
}

TEST(Ledger, a_handle_that_was_handed_out_twice_is_freed_twice) {
  Ledger ledger;
  ledger.add(ObjectKind::group, kOne, made(abi::Call::comm_group, 0));
  ledger.add(ObjectKind::group, kOne, made(abi::Call::comm_group, 1));
  ledger.remove(ObjectKind::group, kOne);
  EXPECT_EQ(ledger.left(false).size(), 1u);
  ledger.remove(ObjectKind::group, kOne);
  EXPECT_TRUE(ledger.left(false).empty());
  EXPECT_FALSE(ledger.remove(ObjectKind::group, kOne));
}

TEST(Ledger, a_handle_made_again_is_another_object) {
  Ledger ledger;
  ledger.add(ObjectKind::type, kOne, made(abi::Call::type_dup, 0));
  const uint64_t first = ledger.generation(kOne);
  ledger.remove(ObjectKind::type, kOne);
  EXPECT_EQ(ledger.generation(kOne), 0u);
  ledger.add(ObjectKind::type, kOne, made(abi::Call::type_dup, 0));
  EXPECT_NE(ledger.generation(kOne), first);
}

TEST(Ledger, predefined_handles_and_unfreeable_ones_are_not_left) {
  Ledger ledger;
  ledger.add(ObjectKind::group, 0x101, made(abi::Call::comm_group, 0));
  ledger.add(ObjectKind::type, kOne, made(abi::Call::type_create_f90_real, 0), true);
  EXPECT_TRUE(ledger.left(false).empty());
  EXPECT_NE(ledger.generation(kOne), 0u);
}

TEST(Ledger, infos_and_error_handlers_may_be_freed_later) {
  Ledger ledger;
  ledger.add(ObjectKind::info, kOne, made(abi::Call::info_create, 0));
  EXPECT_TRUE(ledger.left(false).empty());
  EXPECT_EQ(ledger.left(true).size(), 1u);
}

}  // namespace
}  // namespace hearth::check
