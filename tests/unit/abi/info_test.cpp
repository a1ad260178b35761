// Info objects through the entry points, which may be called at any time.
#include <gtest/gtest.h>

#include <string>

#include "abi/handle.h"
#include "fake_job.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

class InfoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    job_.return_errors();
    ASSERT_EQ(MPI_Info_create(&info_), MPI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(MPI_Info_free(&info_), MPI_SUCCESS);
    EXPECT_EQ(info_, MPI_INFO_NULL);
  }
  std::string get(const char* key) {
    char value[MPI_MAX_INFO_VAL];
    int room = sizeof value, flag = -1;
    EXPECT_EQ(MPI_Info_get_string(info_, key, &room, value, &flag), MPI_SUCCESS);
    return flag == 1 ? value : "(not set)";
  }

  FakeJob job_;
  MPI_Info info_ = MPI_INFO_NULL;
};

TEST_F(InfoTest, KeepsTheOrderOfKeysAndReplacesValues) {
  MPI_Info_set(info_, "b", "1");
  MPI_Info_set(info_, "a", "2");
  MPI_Info_set(info_, "B", "");
  MPI_Info_set(info_, "b", "3");
  int keys = 0;
  MPI_Info_get_nkeys(info_, &keys);
  EXPECT_EQ(keys, 3);
  char key[MPI_MAX_INFO_KEY];
  const char* const expected[] = {"b", "a", "B"};
  for (int n = 0; n < 3; ++n) {
    MPI_Info_get_nthkey(info_, n, key);
    EXPECT_STREQ(key, expected[n]);
  }
  EXPECT_EQ(get("b"), "3");
  EXPECT_EQ(get("B"), "");
  EXPECT_EQ(get("c"), "(not set)");
  EXPECT_EQ(class_of(MPI_Info_get_nthkey(info_, 3, key)), MPI_ERR_ARG);
}

TEST_F(InfoTest, GetStringSaysHowMuchRoomItNeeds) {
  MPI_Info_set(info_, "key", "value");
  char value[8] = "unused";
  int room = 0, flag = 0;
  MPI_Info_get_string(info_, "key", &room, nullptr, &flag);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(room, 6);
  room = 4;
  MPI_Info_get_string(info_, "key", &room, value, &flag);
  EXPECT_STREQ(value, "val");
  EXPECT_EQ(room, 6);
  room = 5;
  MPI_Info_get_string(info_, "none", &room, value, &flag);
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(room, 5) << "must not change when the key is not set";
}

TEST_F(InfoTest, DeprecatedGetCutsAtValuelen) {
  MPI_Info_set(info_, "key", "value");
  char value[8];
  int flag = 0, length = 0;
  MPI_Info_get(info_, "key", 3, value, &flag);
  EXPECT_STREQ(value, "val");
  MPI_Info_get_valuelen(info_, "key", &length, &flag);
  EXPECT_EQ(length, 5);
}

TEST_F(InfoTest, DuplicateIsIndependent) {
  MPI_Info_set(info_, "key", "old");
  MPI_Info copy;
  MPI_Info_dup(info_, &copy);
  MPI_Info_set(copy, "key", "new");
  EXPECT_EQ(get("key"), "old");
  MPI_Info_free(&copy);
}

TEST_F(InfoTest, RefusesWhatTheStandardForbids) {
  const std::string long_key(MPI_MAX_INFO_KEY, 'k'), long_value(MPI_MAX_INFO_VAL, 'v');
  EXPECT_EQ(MPI_Info_set(info_, long_key.substr(1).c_str(), "v"), MPI_SUCCESS);
  EXPECT_EQ(MPI_Info_set(info_, "k", long_value.substr(1).c_str()), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Info_set(info_, long_key.c_str(), "v")), MPI_ERR_INFO_KEY);
  EXPECT_EQ(class_of(MPI_Info_set(info_, "", "v")), MPI_ERR_INFO_KEY);
  EXPECT_EQ(class_of(MPI_Info_set(info_, "k", long_value.c_str())), MPI_ERR_INFO_VALUE);
  EXPECT_EQ(class_of(MPI_Info_delete(info_, "none")), MPI_ERR_INFO_NOKEY);
  EXPECT_EQ(class_of(MPI_Info_set(MPI_INFO_ENV, "k", "v")), MPI_ERR_INFO);
  EXPECT_EQ(class_of(MPI_Info_set(MPI_INFO_NULL, "k", "v")), MPI_ERR_INFO);
  MPI_Info environment = MPI_INFO_ENV;
  EXPECT_EQ(class_of(MPI_Info_free(&environment)), MPI_ERR_INFO);
}

TEST_F(InfoTest, AbiInfoAgreesWithTheHeader) {
  MPI_Info abi;
  ASSERT_EQ(MPI_Abi_get_info(&abi), MPI_SUCCESS);
  char value[MPI_MAX_INFO_VAL];
  int room = sizeof value, flag = 0;
  MPI_Info_get_string(abi, "mpi_aint_size", &room, value, &flag);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(std::stoul(value), sizeof(MPI_Aint));
  MPI_Info_free(&abi);
}

TEST_F(InfoTest, FortranInfoIsSetOnceAndMustFit) {
  MPI_Info mine;
  MPI_Info_create(&mine);
  MPI_Info_set(mine, "mpi_integer_size", "8");
  EXPECT_EQ(class_of(MPI_Abi_set_fortran_info(mine)), MPI_ERR_ABI);
  MPI_Info_set(mine, "mpi_integer_size", "4");
  MPI_Info_set(mine, "mpi_real16_supported", "false");
  EXPECT_EQ(MPI_Abi_set_fortran_info(mine), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Abi_set_fortran_info(mine)), MPI_ERR_ABI);
  MPI_Info_free(&mine);
}

TEST_F(InfoTest, FortranBooleansAreSetOnceForEveryWidth) {
  int32_t yes = -1, no = -1;
  int is_set = -1;
  ASSERT_EQ(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set), MPI_SUCCESS);
  EXPECT_EQ(is_set, 0);  // not set yet
  EXPECT_EQ(yes, 1);
  EXPECT_EQ(no, 0);

  for (const int size : {-4, 0, 3, 32}) {
    EXPECT_EQ(class_of(MPI_Abi_get_fortran_booleans(size, &yes, &no, &is_set)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(size, &yes, &no)), MPI_ERR_ARG);
  }
  EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(4, &yes, &yes)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(4, nullptr, &no)), MPI_ERR_ARG);
  ASSERT_EQ(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set), MPI_SUCCESS);
  EXPECT_EQ(is_set, 0);  // refused calls set nothing

  int16_t given_yes = -2, given_no = 0x1203;
  ASSERT_EQ(MPI_Abi_set_fortran_booleans(2, &given_yes, &given_no), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(2, &given_yes, &given_no)), MPI_ERR_ABI);
  EXPECT_EQ(class_of(MPI_Abi_set_fortran_booleans(4, &yes, &no)), MPI_ERR_ABI);
  int8_t narrow_yes = 0, narrow_no = 0;
  ASSERT_EQ(MPI_Abi_get_fortran_booleans(1, &narrow_yes, &narrow_no, &is_set), MPI_SUCCESS);
  EXPECT_EQ(is_set, 1);
  EXPECT_EQ(narrow_yes, -2);
  EXPECT_EQ(narrow_no, 3);
  int64_t wide_yes[2], wide_no[2];
  ASSERT_EQ(MPI_Abi_get_fortran_booleans(16, &wide_yes, &wide_no, &is_set), MPI_SUCCESS);
  EXPECT_EQ(wide_yes[0], -2);
  EXPECT_EQ(wide_yes[1], -1);
  EXPECT_EQ(wide_no[0], 0x1203);
  EXPECT_EQ(wide_no[1], 0);
}

}  // namespace
}  // namespace hearth::abi
