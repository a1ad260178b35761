// Attributes: arguments and order of the user's callbacks, and the effect of their errors.
#include "objects/attribute.h"

#include <gtest/gtest.h>

#include <string>

#include "objects/comm.h"

namespace hearth::objects {
namespace {

// The events, one line each.
std::vector<std::string>* events = nullptr;

int log_delete(MPI_Comm, int, void* value, void* extra) {
  events->push_back("delete " + std::to_string(reinterpret_cast<intptr_t>(value)) + " " +
                    static_cast<const char*>(extra));
  return MPI_SUCCESS;
}
int copy_plus_one(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
int refuse_delete(MPI_Comm, int, void*, void*) {
  return MPI_ERR_OTHER;
}
int refuse_copy(MPI_Comm, int, void*, void*, void*, int*) {
  return MPI_ERR_INTERN;
}

void* value_of(intptr_t number) {
  return reinterpret_cast<void*>(number);
}

class Attributes : public ::testing::Test {
 protected:
  Attributes() { events = &events_; }

  int key(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* erase) {
    return create_keyval(KeyvalKind::comm, CopyFunction{.comm = copy}, DeleteFunction{.comm = erase}, extra_);
  }
  intptr_t get(Comm& comm, int keyval) {
    void* value = nullptr;
    bool found = false;
    EXPECT_TRUE(get_attribute(holder_of(comm), keyval, value, found).ok());
    return found ? reinterpret_cast<intptr_t>(value) : -1;
  }

  std::vector<std::string> events_;
  char extra_[8] = "extra";
  Comm one_;
  Comm two_;
};

TEST_F(Attributes, AreSetReadAndReplaced) {
  int keyval = key(MPI_COMM_NULL_COPY_FN, log_delete);
  EXPECT_EQ(get(one_, keyval), -1);
  ASSERT_TRUE(set_attribute(holder_of(one_), keyval, value_of(1)).ok());
  EXPECT_EQ(get(one_, keyval), 1);
  EXPECT_EQ(get(two_, keyval), -1);
  ASSERT_TRUE(set_attribute(holder_of(one_), keyval, value_of(2)).ok());
  EXPECT_EQ(get(one_, keyval), 2);
  ASSERT_TRUE(delete_attribute(holder_of(one_), keyval).ok());
  EXPECT_EQ(get(one_, keyval), -1);
  EXPECT_EQ(events_, (std::vector<std::string>{"delete 1 extra", "delete 2 extra"}));
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, keyval).ok());
  EXPECT_EQ(keyval, MPI_KEYVAL_INVALID);
}

TEST_F(Attributes, GoAwayLastFirst) {
  int first = key(MPI_COMM_NULL_COPY_FN, log_delete);
  int second = key(MPI_COMM_NULL_COPY_FN, log_delete);
  int third = key(MPI_COMM_NULL_COPY_FN, log_delete);
  ASSERT_TRUE(set_attribute(holder_of(one_), second, value_of(1)).ok());
  ASSERT_TRUE(set_attribute(holder_of(one_), first, value_of(2)).ok());
  ASSERT_TRUE(set_attribute(holder_of(one_), third, value_of(3)).ok());
  // A freed key keeps its callbacks for the attributes that still use it.
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, first).ok());
  ASSERT_TRUE(delete_attributes(one_).ok());
  EXPECT_EQ(events_, (std::vector<std::string>{"delete 3 extra", "delete 2 extra", "delete 1 extra"}));
  EXPECT_TRUE(one_.attributes.empty());
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, second).ok());
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, third).ok());
}

// A freed key stays usable by its number until its last attribute is deleted. No other key gets the number
// before (MPI 5.0 section 7.7.2).
TEST_F(Attributes, OutliveTheirFreedKey) {
  int freed = key(MPI_COMM_DUP_FN, log_delete);
  const int number = freed;
  ASSERT_TRUE(set_attribute(holder_of(one_), number, value_of(1)).ok());
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, freed).ok());
  ASSERT_TRUE(copy_attributes(holder_of(one_), holder_of(two_)).ok());
  EXPECT_EQ(get(two_, number), 1);
  EXPECT_EQ(set_attribute(holder_of(one_), number, value_of(2)).error_class(), MPI_ERR_KEYVAL);
  ASSERT_TRUE(delete_attribute(holder_of(one_), number).ok());
  EXPECT_EQ(events_, std::vector<std::string>{"delete 1 extra"});
  EXPECT_EQ(get(one_, number), -1);
  EXPECT_EQ(delete_attribute(holder_of(one_), number).error_class(), MPI_ERR_KEYVAL);
  int other = key(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN);
  EXPECT_NE(other, number);
  ASSERT_TRUE(delete_attribute(holder_of(two_), number).ok());
  void* value = nullptr;
  bool found = false;
  EXPECT_EQ(get_attribute(holder_of(two_), number, value, found).error_class(), MPI_ERR_KEYVAL);
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, other).ok());
}

TEST_F(Attributes, AreCopiedAsTheirKeysSay) {
  int never = key(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN);
  int always = key(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN);
  int changed = key(copy_plus_one, MPI_COMM_NULL_DELETE_FN);
  for (const int keyval : {never, always, changed}) {
    ASSERT_TRUE(set_attribute(holder_of(one_), keyval, value_of(10)).ok());
  }
  ASSERT_TRUE(copy_attributes(holder_of(one_), holder_of(two_)).ok());
  EXPECT_EQ(get(two_, never), -1);
  EXPECT_EQ(get(two_, always), 10);
  EXPECT_EQ(get(two_, changed), 11);
  EXPECT_EQ(get(one_, changed), 10);
}

TEST_F(Attributes, FailWithTheCodeOfTheFunction) {
  int keyval = key(MPI_COMM_DUP_FN, refuse_delete);
  ASSERT_TRUE(set_attribute(holder_of(one_), keyval, value_of(1)).ok());
  EXPECT_EQ(set_attribute(holder_of(one_), keyval, value_of(2)).error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(delete_attribute(holder_of(one_), keyval).error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(delete_attributes(one_).error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(get(one_, keyval), 1);

  int uncopied = key(refuse_copy, MPI_COMM_NULL_DELETE_FN);
  ASSERT_TRUE(set_attribute(holder_of(one_), uncopied, value_of(5)).ok());
  EXPECT_EQ(copy_attributes(holder_of(one_), holder_of(two_)).error_class(), MPI_ERR_INTERN);
  EXPECT_TRUE(two_.attributes.empty());
}

TEST_F(Attributes, RefuseWrongKeys) {
  void* value = nullptr;
  bool found = false;
  for (const int keyval : {MPI_KEYVAL_INVALID, MPI_TAG_UB, MPI_WIN_BASE, 1000000, -5}) {
    EXPECT_EQ(set_attribute(holder_of(one_), keyval, nullptr).error_class(), MPI_ERR_KEYVAL) << keyval;
    EXPECT_EQ(get_attribute(holder_of(one_), keyval, value, found).error_class(), MPI_ERR_KEYVAL) << keyval;
    int copy = keyval;
    EXPECT_EQ(free_keyval(KeyvalKind::comm, copy).error_class(), MPI_ERR_KEYVAL) << keyval;
  }
  int of_types = create_keyval(KeyvalKind::type, CopyFunction{.type = nullptr},
                               DeleteFunction{.type = nullptr}, nullptr);
  EXPECT_EQ(set_attribute(holder_of(one_), of_types, nullptr).error_class(), MPI_ERR_KEYVAL);
  int freed = key(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN);
  const int number = freed;
  ASSERT_TRUE(free_keyval(KeyvalKind::comm, freed).ok());
  EXPECT_EQ(set_attribute(holder_of(one_), number, nullptr).error_class(), MPI_ERR_KEYVAL);
  EXPECT_EQ(delete_attribute(holder_of(one_), of_types).error_class(), MPI_ERR_KEYVAL);
}

// Functions of a key that delete the attribute for which they are called and free the key.
int key_in_use = MPI_KEYVAL_INVALID;
Comm* comm_in_use = nullptr;

void drop_all() {
  if (key_in_use == MPI_KEYVAL_INVALID) return;
  const int number = key_in_use;
  EXPECT_TRUE(free_keyval(KeyvalKind::comm, key_in_use).ok());
  EXPECT_TRUE(delete_attribute(holder_of(*comm_in_use), number).ok());
}
int drop_on_delete(MPI_Comm, int, void*, void*) {
  drop_all();
  return MPI_SUCCESS;
}
int drop_on_copy(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  drop_all();
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

TEST_F(Attributes, AreNotSetUnderAKeyThatTheDeleteFunctionFrees) {
  const int number = key_in_use = key(MPI_COMM_NULL_COPY_FN, drop_on_delete);
  comm_in_use = &one_;
  ASSERT_TRUE(set_attribute(holder_of(one_), number, value_of(1)).ok());
  EXPECT_EQ(set_attribute(holder_of(one_), number, value_of(2)).error_class(), MPI_ERR_KEYVAL);
  EXPECT_TRUE(one_.attributes.empty());
  // The number belongs to a new key, which the old value must not use.
  EXPECT_EQ(key(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN), number);
  EXPECT_EQ(get(one_, number), -1);
}

TEST_F(Attributes, KeepTheKeyThatTheCopyFunctionFrees) {
  const int number = key_in_use = key(drop_on_copy, log_delete);
  comm_in_use = &one_;
  ASSERT_TRUE(set_attribute(holder_of(one_), number, value_of(3)).ok());
  ASSERT_TRUE(copy_attributes(holder_of(one_), holder_of(two_)).ok());
  EXPECT_TRUE(one_.attributes.empty());
  EXPECT_EQ(get(two_, number), 3);
  EXPECT_NE(key(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN), number);
  ASSERT_TRUE(delete_attributes(two_).ok());
  EXPECT_EQ(events_, (std::vector<std::string>{"delete 3 extra", "delete 3 extra"}));
}

}  // namespace
}  // namespace hearth::objects
