/* Algorithms set by the info of a communicator (docs/design/collectives.md): collectives stay correct on this
 * and other communicators, also if the hint is set between two collectives; an invalid value is an error. */
#include "check.h"

static int set_info(MPI_Comm comm, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hearth_coll_algorithms", value);
  const int code = MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
  return code;
}

static void test_sums(MPI_Comm comm) {
  for (int time = 0; time < 20; ++time) {
    int sum = 0;
    const int own = rank_ + time;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size_ * (size_ - 1) / 2 + size_ * time, "wrong sum");
    int word = rank_ == time % size_ ? time : -1;
    MPI_Bcast(&word, 1, MPI_INT, time % size_, comm);
    CHECK(word == time, "wrong word");
    MPI_Barrier(comm);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm comm, with_info;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  test_sums(comm);
  CHECK(set_info(comm, "allreduce=tree,bcast=tree,barrier=tree") == MPI_SUCCESS, "hint refused");
  test_sums(comm);
  test_sums(MPI_COMM_WORLD);
  CHECK(set_info(comm, "allreduce=recursive_doubling,bcast=binomial") == MPI_SUCCESS, "hint refused");
  test_sums(comm);
  CHECK(set_info(comm, "") == MPI_SUCCESS, "the end of a hint refused");
  test_sums(comm);

  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int class_;
  MPI_Error_class(set_info(comm, "allreduce=no_such"), &class_);
  CHECK(class_ == MPI_ERR_INFO_VALUE, "a name that means nothing is accepted");
  test_sums(comm);

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hearth_coll_algorithms", "allreduce=tree");
  MPI_Comm_dup_with_info(comm, info, &with_info);
  MPI_Info_free(&info);
  test_sums(with_info);
  char value[64];
  int length = sizeof value, flag;
  MPI_Comm_get_info(with_info, &info);
  MPI_Info_get_string(info, "hearth_coll_algorithms", &length, value, &flag);
  CHECK(flag && strcmp(value, "allreduce=tree") == 0, "the hint is not given back");
  MPI_Info_free(&info);
  MPI_Comm_free(&with_info);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
