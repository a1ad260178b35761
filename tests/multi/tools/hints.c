/* Thresholds by the info of a communicator (docs/design/tuning.md): they apply to its messages only, with
 * less precedence than the environment and more than the tool interface. The test uses messages to oneself,
 * which are copied directly from buffer to buffer at any length unless a threshold says otherwise. One rank.
 *
 *   hints followed     nothing in the environment
 *   hints overruled    the environment says HEARTH_P2P_SINGLE_COPY_BYTES_MIN=1 */
#include "../coll/check.h"

enum { bytes = 20000 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle copies;

static void watch_copies(void) {
  int index, count;
  CHECK(MPI_T_pvar_get_index("p2p_single_copies", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS,
        "no such variable");
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, NULL, &copies, &count);
  MPI_T_pvar_start(session, copies);
}

/* Whether a message on `comm` is copied directly. */
static int is_copied_straight(MPI_Comm comm) {
  static char from[bytes], to[bytes];
  unsigned long long before = 0, after = 0;
  MPI_Request request;
  memset(from, 7, sizeof from);
  memset(to, 0, sizeof to);
  MPI_T_pvar_read(session, copies, &before);
  MPI_Irecv(to, bytes, MPI_BYTE, 0, 1, comm, &request);
  MPI_Send(from, bytes, MPI_BYTE, 0, 1, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_T_pvar_read(session, copies, &after);
  CHECK(memcmp(from, to, sizeof from) == 0, "wrong data");
  return after - before == 1;
}

static MPI_Info info_of(const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hearth_p2p_single_copy_bytes_min", value);
  MPI_Info_set(info, "hearth_p2p_nothing_of_the_kind", "x");
  return info;
}

static int set_info(MPI_Comm comm, const char* value) {
  MPI_Info info = info_of(value);
  const int code = MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
  return code;
}

static void write_cvar(MPI_Count value) {
  MPI_T_cvar_handle handle;
  int index, count;
  MPI_T_cvar_get_index("p2p_single_copy_bytes_min", &index);
  MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
  CHECK(MPI_T_cvar_write(handle, &value) == MPI_SUCCESS, "cannot be written");
  MPI_T_cvar_handle_free(&handle);
}

static void test_followed(void) {
  MPI_Comm comm, copy, made;
  MPI_Info info = info_of("never");
  int error_class;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(is_copied_straight(comm), "not copied straight by default");
  CHECK(set_info(comm, "never") == MPI_SUCCESS, "refused");
  CHECK(!is_copied_straight(comm), "never is ignored");
  CHECK(is_copied_straight(MPI_COMM_SELF), "other communicators follow too");
  CHECK(set_info(comm, "20000") == MPI_SUCCESS && is_copied_straight(comm), "20000 bytes are long enough");
  CHECK(set_info(comm, "20K") == MPI_SUCCESS && !is_copied_straight(comm), "20 KiB are more");

  MPI_Error_class(set_info(comm, "often"), &error_class);
  CHECK(error_class == MPI_ERR_INFO_VALUE, "a word without a meaning: class %d", error_class);
  CHECK(!is_copied_straight(comm), "what was refused changed something");

  MPI_Comm_dup(comm, &copy);
  CHECK(is_copied_straight(copy), "MPI_Comm_dup copies no hints");
  MPI_Comm_free(&copy);
  MPI_Comm_dup_with_info(comm, info, &copy);
  CHECK(!is_copied_straight(copy), "the info of MPI_Comm_dup_with_info is ignored");
  MPI_Comm_free(&copy);
  MPI_Request request;
  MPI_Comm_idup(comm, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(is_copied_straight(copy), "MPI_Comm_idup copies no hints");
  MPI_Comm_free(&copy);
  MPI_Comm_idup_with_info(comm, info, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(!is_copied_straight(copy), "the info of MPI_Comm_idup_with_info is ignored");

  /* The tool interface has less precedence: the hint applies until it is removed. */
  write_cvar(1 << 20);
  CHECK(set_info(copy, "0") == MPI_SUCCESS && is_copied_straight(copy), "behind the tool interface");
  CHECK(set_info(copy, "auto") == MPI_SUCCESS && !is_copied_straight(copy), "auto does not take it back");
  write_cvar(-1);
  CHECK(is_copied_straight(copy), "the default is gone");
  CHECK(!is_copied_straight(comm), "the hint is gone");
  MPI_Comm_free(&copy);

  MPI_Group group;
  MPI_Comm_group(MPI_COMM_SELF, &group);
  MPI_Comm_create_from_group(group, "hints", info, MPI_ERRORS_ARE_FATAL, &made);
  CHECK(!is_copied_straight(made), "the info of MPI_Comm_create_from_group is ignored");
  MPI_Comm_free(&made);
  MPI_Group_free(&group);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  watch_copies();
  if (strcmp(argv[1], "followed") == 0) {
    test_followed();
  } else {
    CHECK(set_info(MPI_COMM_SELF, "never") == MPI_SUCCESS, "refused");
    CHECK(is_copied_straight(MPI_COMM_SELF), "before the environment");
  }
  MPI_T_pvar_handle_free(session, &copies);
  MPI_T_pvar_session_free(&session);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
