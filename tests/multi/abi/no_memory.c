/* If an allocation fails in a call, the call returns MPI_ERR_NO_MEM (or MPI_T_ERR_MEMORY) or succeeds without
 * the memory: no C++ exception crosses the interface, and the library stays usable. Each call is repeated,
 * and each time another one of its allocations fails. One rank. */
#include "../coll/check.h"

extern void* __libc_malloc(size_t bytes);

static volatile long refuse_at = -1; /* counts down; 0: this allocation fails */
static long refused;

/* Replaces the C library's malloc. */
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  if (refuse_at >= 0 && refuse_at-- == 0) {
    ++refused;
    return NULL;
  }
  return __libc_malloc(bytes);
}

static char long_name[100], long_value[800];
static MPI_Info info;
static MPI_Comm named;
static int keyvals[200], keyval_count, codes[400], code_count;

static int try_info_set(void) {
  static int number;
  char key[64];
  snprintf(key, sizeof key, "a key that is too long to be kept in place %d", ++number);
  return MPI_Info_set(info, key, long_value);
}

static int try_info_dup(void) {
  MPI_Info copy = MPI_INFO_NULL;
  const int code = MPI_Info_dup(info, &copy);
  if (code == MPI_SUCCESS) MPI_Info_free(&copy);
  return code;
}

static int try_comm_name(void) {
  return MPI_Comm_set_name(named, long_name);
}

static int try_comm_dup(void) {
  MPI_Comm copy = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(named, &copy);
  if (code == MPI_SUCCESS) MPI_Comm_free(&copy);
  return code;
}

static int try_comm_split(void) {
  MPI_Comm part = MPI_COMM_NULL;
  const int code = MPI_Comm_split(named, 1, 1, &part);
  if (code == MPI_SUCCESS) MPI_Comm_free(&part);
  return code;
}

static int try_group(void) {
  MPI_Group group = MPI_GROUP_NULL, part = MPI_GROUP_NULL;
  const int zero = 0;
  int code = MPI_Comm_group(MPI_COMM_SELF, &group);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Group_incl(group, 1, &zero, &part);
  if (code == MPI_SUCCESS && part != MPI_GROUP_EMPTY) MPI_Group_free(&part);
  MPI_Group_free(&group);
  return code;
}

static int try_type(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int code = MPI_Type_contiguous(7, MPI_INT, &type);
  if (code == MPI_SUCCESS) MPI_Type_free(&type);
  return code;
}

static int try_keyval(void) {
  const int code =
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyvals[keyval_count], NULL);
  if (code == MPI_SUCCESS) ++keyval_count;
  return code;
}

static int try_attribute(void) {
  return keyval_count > 0 ? MPI_Comm_set_attr(named, keyvals[keyval_count - 1], long_name) : MPI_SUCCESS;
}

static int try_error_code(void) {
  const int code = MPI_Add_error_code(MPI_ERR_OTHER, &codes[code_count]);
  if (code != MPI_SUCCESS) return code;
  return MPI_Add_error_string(codes[code_count++], long_name);
}

static int try_waitall(void) {
  /* One request fails, which needs a list of statuses. */
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int in = 0, out = 1;
  MPI_Irecv(&in, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
  MPI_Irecv(&in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
  MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
  MPI_Isend(&out, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[2]);
  const int code = MPI_Waitall(3, requests, statuses);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_IN_STATUS) return MPI_SUCCESS;
  for (int i = 0; i < 3; ++i)
    if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  return code;
}

static int try_info_env(void) {
  return MPI_Info_create_env(0, NULL, &info);
}

static int try_partitioned(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  static int in[4], out[4];
  int code = MPI_Psend_init(out, 4, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
  if (code == MPI_SUCCESS) {
    do {
      code = MPI_Precv_init(in, 2, 2, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    } while (code != MPI_SUCCESS);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
  return code;
}

static int try_tool(void) {
  MPI_T_pvar_session session;
  const int code = MPI_T_pvar_session_create(&session);
  if (code == MPI_SUCCESS) MPI_T_pvar_session_free(&session);
  return code;
}

static int try_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  const int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  if (code == MPI_SUCCESS) MPI_Session_finalize(&session);
  return code;
}

static int try_bad_argument(void) {
  int flag;
  return MPI_Comm_test_inter(MPI_COMM_NULL, &flag) == MPI_SUCCESS ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static const struct {
  const char* name;
  int (*call)(void);
} tries[] = {{"info_set", try_info_set},
             {"info_dup", try_info_dup},
             {"comm_name", try_comm_name},
             {"comm_dup", try_comm_dup},
             {"comm_split", try_comm_split},
             {"group", try_group},
             {"type", try_type},
             {"keyval", try_keyval},
             {"attribute", try_attribute},
             {"error", try_error_code},
             {"waitall", try_waitall},
             {"info_env", try_info_env},
             {"tool", try_tool},
             {"session", try_session},
             {"arguments", try_bad_argument},
             {"partitioned", try_partitioned}};

int main(int argc, char** argv) {
  int provided;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_SELF, &named);
  MPI_Info_create(&info);
  memset(long_name, 'n', sizeof long_name - 1);
  memset(long_value, 'v', sizeof long_value - 1);
  long told = 0;
  for (int i = 0; i < (int)(sizeof tries / sizeof tries[0]); ++i) {
    for (int at = 0; at < 12; ++at) {
      refuse_at = at;
      const int code = tries[i].call();
      refuse_at = -1;
      if (code == MPI_SUCCESS) continue;
      int error_class = -1, length = 0;
      char text[MPI_MAX_ERROR_STRING];
      MPI_Error_class(code, &error_class);
      MPI_Error_string(code, text, &length);
      CHECK(error_class == MPI_ERR_NO_MEM || error_class == MPI_T_ERR_MEMORY, "%s at %d: %s", tries[i].name,
            at, text);
      CHECK(length > 0, "%s at %d has no words", tries[i].name, at);
      ++told;
    }
    /* The call works again. */
    const int code = tries[i].call();
    CHECK(code == MPI_SUCCESS, "%s afterwards: %d", tries[i].name, code);
  }
  CHECK(refused > 10 && told > 5, "%ld requests refused, %ld errors: the test tests nothing", refused, told);
  MPI_Info_free(&info);
  MPI_Comm_free(&named);
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
