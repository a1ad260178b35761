/* The tool interface (MPI 5.0 chapter 15): before, while and after MPI is initialized; control variables are
 * found, read, and set while that has an effect; performance variables follow the events; invalid arguments
 * get their codes. Two ranks. */
#include "../coll/check.h"

static void expect(int code, int wanted, const char* what) {
  CHECK(code == wanted, "%s gave %d, not %d", what, code, wanted);
}

static int cvar(const char* name) {
  int index = -1;
  expect(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS, name);
  return index;
}

static MPI_Count read_number(const char* name) {
  MPI_T_cvar_handle handle;
  MPI_Count value = -1;
  int count = -1;
  MPI_T_cvar_handle_alloc(cvar(name), NULL, &handle, &count);
  CHECK(count == 1, "%s has %d values", name, count);
  expect(MPI_T_cvar_read(handle, &value), MPI_SUCCESS, name);
  MPI_T_cvar_handle_free(&handle);
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL, "the handle stays");
  return value;
}

static int write_number(const char* name, MPI_Count value) {
  MPI_T_cvar_handle handle;
  int count;
  MPI_T_cvar_handle_alloc(cvar(name), NULL, &handle, &count);
  const int code = MPI_T_cvar_write(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  return code;
}

static void check_cvars(void) {
  int number = -1, seen_flag = 0, seen_text = 0;
  MPI_T_cvar_get_num(&number);
  CHECK(number > 10, "%d control variables", number);
  for (int i = 0; i < number; ++i) {
    char name[128], desc[512], cut[4];
    int name_len = sizeof name, desc_len = sizeof desc, cut_len = sizeof cut, needed = 0;
    int verbosity = -1, bind = -1, scope = -1, index = -1, count = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum enumtype = MPI_T_ENUM_NULL;
    expect(
        MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &enumtype, desc, &desc_len, &bind, &scope),
        MPI_SUCCESS, "cvar_get_info");
    CHECK(name_len == (int)strlen(name) + 1 && desc_len == (int)strlen(desc) + 1 && desc_len > 1,
          "%s: lengths %d, %d", name, name_len, desc_len);
    CHECK(bind == MPI_T_BIND_NO_OBJECT && scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ,
          "%s: bind %d, scope %d", name, bind, scope);
    expect(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS, name);
    CHECK(index == i, "%s leads to %d", name, index);
    /* Every result may be omitted; without a buffer the call returns the needed length. */
    expect(MPI_T_cvar_get_info(i, NULL, &needed, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS,
           name);
    CHECK(needed == name_len, "%s needs %d", name, needed);
    MPI_T_cvar_get_info(i, cut, &cut_len, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(cut_len == 4 && memcmp(cut, name, 3) == 0 && cut[3] == 0, "%s cut to %s", name, cut);

    MPI_T_cvar_handle handle;
    MPI_T_cvar_handle_alloc(i, NULL, &handle, &count);
    if (type == MPI_CHAR) {
      char* text = malloc((size_t)count);
      expect(MPI_T_cvar_read(handle, text), MPI_SUCCESS, name);
      CHECK(memchr(text, 0, (size_t)count) != NULL, "%s has no end", name);
      seen_text = 1;
      free(text);
    } else if (type == MPI_INT) {
      int value = -1, items = -1, item = -1, item_len = sizeof name;
      expect(MPI_T_cvar_read(handle, &value), MPI_SUCCESS, name);
      expect(MPI_T_enum_get_info(enumtype, &items, NULL, NULL), MPI_SUCCESS, "enum_get_info");
      CHECK(items == 2 && value >= 0 && value < items, "%s is %d of %d", name, value, items);
      MPI_T_enum_get_item(enumtype, 1, &item, name, &item_len);
      CHECK(item == 1 && strcmp(name, "yes") == 0, "item %d is %s", item, name);
      expect(MPI_T_enum_get_item(enumtype, 2, &item, NULL, NULL), MPI_T_ERR_INVALID_INDEX, "item 2");
      seen_flag = 1;
    } else {
      MPI_Count value = -1;
      CHECK(type == MPI_COUNT, "%s has another type", name);
      expect(MPI_T_cvar_read(handle, &value), MPI_SUCCESS, name);
      CHECK(value >= -1, "%s is %lld", name, (long long)value); /* -1: left to the library */
    }
    MPI_T_cvar_handle_free(&handle);
  }
  CHECK(seen_flag && seen_text, "flags %d, texts %d", seen_flag, seen_text);
}

static void check_categories(void) {
  int number = -1, cvars = 0, pvars = 0, all_cvars = -1, all_pvars = -1, stamp = -1;
  MPI_T_category_get_num(&number);
  for (int i = 0; i < number; ++i) {
    char name[64];
    int length = sizeof name, some_cvars = -1, some_pvars = -1, below = -1, index = -1, events = -1;
    int list[64];
    expect(MPI_T_category_get_info(i, name, &length, NULL, NULL, &some_cvars, &some_pvars, &below),
           MPI_SUCCESS, "category_get_info");
    MPI_T_category_get_index(name, &index);
    CHECK(index == i && below == 0, "%s leads to %d", name, index);
    MPI_T_category_get_cvars(i, 64, list);
    for (int k = 0; k < some_cvars; ++k) {
      char variable[128];
      int variable_length = sizeof variable;
      expect(
          MPI_T_cvar_get_info(list[k], variable, &variable_length, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
          MPI_SUCCESS, name);
      if (strcmp(name, "general") != 0)
        CHECK(strstr(variable, name) == variable, "%s is in %s", variable, name);
    }
    expect(MPI_T_category_get_pvars(i, 64, list), MPI_SUCCESS, name);
    expect(MPI_T_category_get_categories(i, 64, list), MPI_SUCCESS, name);
    expect(MPI_T_category_get_num_events(i, &events), MPI_SUCCESS, name);
    CHECK(events == 0, "%s has %d events", name, events);
    cvars += some_cvars;
    pvars += some_pvars;
  }
  MPI_T_cvar_get_num(&all_cvars);
  MPI_T_pvar_get_num(&all_pvars);
  CHECK(cvars == all_cvars && pvars == all_pvars, "%d of %d, %d of %d variables have a category", cvars,
        all_cvars, pvars, all_pvars);
  expect(MPI_T_category_changed(&stamp), MPI_SUCCESS, "category_changed");
}

static int pvar(const char* name, int variable_class) {
  int index = -1;
  expect(MPI_T_pvar_get_index(name, variable_class, &index), MPI_SUCCESS, name);
  return index;
}

static MPI_T_pvar_handle pvar_handle(MPI_T_pvar_session session, int index) {
  MPI_T_pvar_handle handle;
  int count = -1;
  expect(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_SUCCESS, "pvar_handle_alloc");
  CHECK(count == 1, "%d values", count);
  return handle;
}

static unsigned long long reading(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long value = 77;
  expect(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS, "pvar_read");
  return value;
}

static void check_pvars(void) {
  int number = -1;
  MPI_T_pvar_session session;
  MPI_T_pvar_get_num(&number);
  CHECK(number > 5, "%d performance variables", number);
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < number; ++i) {
    char name[128], desc[512];
    int name_len = sizeof name, desc_len = sizeof desc, variable_class = -1, bind = -1, readonly = -1;
    int continuous = -1, atomic = -1, verbosity = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    expect(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &variable_class, &type, NULL, desc, &desc_len,
                               &bind, &readonly, &continuous, &atomic),
           MPI_SUCCESS, "pvar_get_info");
    CHECK(pvar(name, variable_class) == i && desc_len > 1 && bind == MPI_T_BIND_NO_OBJECT, "%s", name);
    CHECK(type == MPI_UNSIGNED_LONG_LONG, "%s has another type", name);
    MPI_T_pvar_handle handle = pvar_handle(session, i);
    reading(session, handle);
    const int start = MPI_T_pvar_start(session, handle);
    expect(start, continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS, name);
    expect(MPI_T_pvar_reset(session, handle), readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS, name);
    unsigned long long value = 5;
    expect(MPI_T_pvar_readreset(session, handle, &value), atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC,
           name);
    MPI_T_pvar_handle_free(session, &handle);
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL, "the handle stays");
  }
  MPI_T_pvar_session_free(&session);
  CHECK(session == MPI_T_PVAR_SESSION_NULL, "the session stays");
}

enum { waiting = 30, length = 100000 };

/* Sends what rank `peer` asks for while it counts, and nothing else. */
static void help(int peer) {
  static char data[length];
  int byte = 1;
  MPI_Recv(NULL, 0, MPI_INT, peer, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < waiting; ++i) MPI_Send(&byte, 1, MPI_INT, peer, i, MPI_COMM_WORLD);
  MPI_Send(NULL, 0, MPI_INT, peer, 99, MPI_COMM_WORLD);
  MPI_Recv(data, length, MPI_CHAR, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Queue depths and counters, while messages wait. */
static void count_messages(int peer) {
  static char data[length];
  MPI_T_pvar_session session;
  MPI_Request requests[waiting];
  int byte = 1;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle unexpected =
      pvar_handle(session, pvar("p2p_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL));
  MPI_T_pvar_handle posted = pvar_handle(session, pvar("p2p_posted_receives", MPI_T_PVAR_CLASS_LEVEL));
  MPI_T_pvar_handle total =
      pvar_handle(session, pvar("p2p_unexpected_messages_total", MPI_T_PVAR_CLASS_COUNTER));
  MPI_T_pvar_handle bytes = pvar_handle(session, pvar("p2p_long_bytes_sent", MPI_T_PVAR_CLASS_COUNTER));
  MPI_T_pvar_handle twice = pvar_handle(session, pvar("p2p_long_bytes_sent", MPI_T_PVAR_CLASS_COUNTER));
  MPI_T_pvar_handle lines = pvar_handle(session, pvar("shm_ring_slots_sent", MPI_T_PVAR_CLASS_COUNTER));
  expect(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "start all");
  const unsigned long long posted_before = reading(session, posted);

  MPI_Send(NULL, 0, MPI_INT, peer, 98, MPI_COMM_WORLD);
  MPI_Recv(NULL, 0, MPI_INT, peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(reading(session, unexpected) == waiting, "%llu unexpected messages", reading(session, unexpected));
  for (int i = 0; i < waiting; ++i) MPI_Recv(&byte, 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(reading(session, unexpected) == 0, "%llu unexpected messages", reading(session, unexpected));
  CHECK(reading(session, total) >= waiting, "%llu unexpected messages", reading(session, total));

  for (int i = 0; i < waiting; ++i) MPI_Irecv(&byte, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
  CHECK(reading(session, posted) == posted_before + waiting, "%llu posted", reading(session, posted));
  for (int i = 0; i < waiting; ++i) MPI_Cancel(&requests[i]);
  MPI_Waitall(waiting, requests, MPI_STATUSES_IGNORE);
  CHECK(reading(session, posted) == posted_before, "%llu posted", reading(session, posted));

  MPI_T_pvar_stop(session, twice);
  const unsigned long long lines_before = reading(session, lines);
  MPI_Send(data, length, MPI_CHAR, peer, 7, MPI_COMM_WORLD);
  CHECK(reading(session, lines) > lines_before, "no line was sent");
  CHECK(reading(session, bytes) == length, "%llu bytes", reading(session, bytes));
  CHECK(reading(session, twice) == 0, "a stopped counter counted %llu", reading(session, twice));
  unsigned long long value = 40;
  MPI_T_pvar_write(session, bytes, &value);
  CHECK(reading(session, bytes) == 40, "%llu after 40 was written", reading(session, bytes));
  MPI_T_pvar_readreset(session, bytes, &value);
  CHECK(value == 40 && reading(session, bytes) == 0, "read %llu, then %llu", value, reading(session, bytes));

  MPI_T_pvar_session other;
  MPI_T_pvar_session_create(&other);
  expect(MPI_T_pvar_read(other, bytes, &value), MPI_T_ERR_INVALID_HANDLE, "a handle of another session");
  MPI_T_pvar_session gone = other;
  MPI_T_pvar_session_free(&other);
  expect(MPI_T_pvar_read(gone, bytes, &value), MPI_T_ERR_INVALID_SESSION, "a session that was freed");
  MPI_T_pvar_session_free(&session);
}

static void try_errors(void) {
  int number = -1, index = -1, count = -1;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  MPI_Count value = 0;
  MPI_T_cvar_get_num(&number);
  expect(MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
         MPI_T_ERR_INVALID_INDEX, "cvar_get_info");
  expect(MPI_T_cvar_get_index("no such name", &index), MPI_T_ERR_INVALID_NAME, "cvar_get_index");
  expect(MPI_T_cvar_get_index(NULL, &index), MPI_T_ERR_INVALID, "cvar_get_index");
  expect(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX, "cvar_handle_alloc");
  expect(MPI_T_cvar_read(handle, &value), MPI_T_ERR_INVALID_HANDLE, "cvar_read");
  expect(MPI_T_cvar_handle_free(&handle), MPI_T_ERR_INVALID_HANDLE, "cvar_handle_free");
  expect(MPI_T_pvar_get_index("p2p_requests", MPI_T_PVAR_CLASS_TIMER, &index), MPI_T_ERR_INVALID_NAME,
         "class");
  expect(MPI_T_category_get_index("no such name", &index), MPI_T_ERR_INVALID_NAME, "category_get_index");
  expect(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID, "category_get_num");
  expect(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "enum");
}

static void never_called(MPI_T_event_instance instance, MPI_T_event_registration registration,
                         MPI_T_cb_safety safety, void* user_data) {
  (void)instance;
  (void)registration;
  (void)safety;
  (void)user_data;
  CHECK(0, "an event");
}

static void never_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* user_data) {
  never_called(NULL, registration, safety, user_data);
}

static void never_dropped(MPI_Count count, MPI_T_event_registration registration, int source_index,
                          MPI_T_cb_safety safety, void* user_data) {
  (void)count;
  (void)source_index;
  never_called(NULL, registration, safety, user_data);
}

/* The standard requires none (MPI 5.0 section 15.3.8): there are no event sources and no event types, so
 * there are neither registrations nor events. */
static void check_events(void) {
  int sources = -1, types = -1, index = 77, categories = 0;
  MPI_Count value = 77;
  MPI_Info info = MPI_INFO_NULL;
  MPI_T_event_registration registration = NULL;
  expect(MPI_T_source_get_num(&sources), MPI_SUCCESS, "source_get_num");
  expect(MPI_T_event_get_num(&types), MPI_SUCCESS, "event_get_num");
  CHECK(sources == 0 && types == 0, "%d sources, %d types of events", sources, types);
  for (int i = -1; i <= 1; ++i) {
    expect(MPI_T_source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX,
           "source_get_info");
    expect(MPI_T_source_get_timestamp(i, &value), MPI_T_ERR_INVALID_INDEX, "source_get_timestamp");
    expect(MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
           MPI_T_ERR_INVALID_INDEX, "event_get_info");
    expect(MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX,
           "event_handle_alloc");
  }
  expect(MPI_T_event_get_index("no such name", &index), MPI_T_ERR_INVALID_NAME, "event_get_index");
  expect(MPI_T_event_get_index(NULL, &index), MPI_T_ERR_INVALID, "event_get_index");

  expect(MPI_T_event_handle_get_info(registration, &info), MPI_T_ERR_INVALID_HANDLE, "event_handle_get_info");
  expect(MPI_T_event_handle_set_info(registration, info), MPI_T_ERR_INVALID_HANDLE, "event_handle_set_info");
  expect(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, info, NULL, never_called),
         MPI_T_ERR_INVALID_HANDLE, "event_register_callback");
  expect(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, &info),
         MPI_T_ERR_INVALID_HANDLE, "event_callback_get_info");
  expect(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, info), MPI_T_ERR_INVALID_HANDLE,
         "event_callback_set_info");
  expect(MPI_T_event_set_dropped_handler(registration, never_dropped), MPI_T_ERR_INVALID_HANDLE,
         "event_set_dropped_handler");
  expect(MPI_T_event_handle_free(registration, NULL, never_freed), MPI_T_ERR_INVALID_HANDLE,
         "event_handle_free");
  expect(MPI_T_event_read(NULL, 0, &value), MPI_T_ERR_INVALID_HANDLE, "event_read");
  expect(MPI_T_event_copy(NULL, &value), MPI_T_ERR_INVALID_HANDLE, "event_copy");
  expect(MPI_T_event_get_timestamp(NULL, &value), MPI_T_ERR_INVALID_HANDLE, "event_get_timestamp");
  expect(MPI_T_event_get_source(NULL, &index), MPI_T_ERR_INVALID_HANDLE, "event_get_source");
  CHECK(value == 77 && index == 77 && info == MPI_INFO_NULL, "a call that fails gives results");

  MPI_T_category_get_num(&categories);
  for (int i = -1; i <= categories; ++i) {
    int events[2] = {77, 77};
    const int there = i >= 0 && i < categories;
    expect(MPI_T_category_get_events(i, 2, events), there ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX,
           "category_get_events");
    CHECK(events[0] == 77 && events[1] == 77, "category %d has an event", i);
  }
}

/* Flags accept 0 and 1 and keep their value if another number is refused; texts accept what is written. */
static void write_flags_and_texts(void) {
  static const char initial[] = "mpi_errors_return";
  MPI_T_cvar_handle handle;
  int count = -1;
  MPI_T_cvar_handle_alloc(cvar("p2p_skew"), NULL, &handle, &count);
  for (int value = -1; value <= 2; ++value) {
    int now = -1;
    expect(MPI_T_cvar_write(handle, &value), value == 0 || value == 1 ? MPI_SUCCESS : MPI_T_ERR_INVALID,
           "p2p_skew");
    MPI_T_cvar_read(handle, &now);
    CHECK(now == (value != 0), "p2p_skew is %d after %d was written", now, value);
  }
  MPI_T_cvar_handle_free(&handle);

  MPI_T_cvar_handle_alloc(cvar("initial_errhandler"), NULL, &handle, &count);
  CHECK(count >= (int)sizeof initial, "%d characters", count);
  char* text = calloc((size_t)count, 1);
  MPI_T_cvar_read(handle, text);
  CHECK(strcmp(text, "mpi_errors_are_fatal") == 0, "initial_errhandler is %s", text);
  memset(text, 0, (size_t)count);
  strcpy(text, initial);
  expect(MPI_T_cvar_write(handle, text), MPI_SUCCESS, "initial_errhandler");
  memset(text, 'x', (size_t)count);
  MPI_T_cvar_read(handle, text);
  CHECK(strcmp(text, initial) == 0, "initial_errhandler is %s", text);
  free(text);
  MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char** argv) {
  int number = -1, provided = -1;
  expect(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED, "before MPI_T_init_thread");
  expect(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED, "MPI_T_finalize");
  expect(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "MPI_T_init_thread");
  expect(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "MPI_T_init_thread");
  check_cvars();
  check_categories();
  check_pvars();
  check_events();
  try_errors();

  /* Variables of mpiexec cannot be set, those that the library reads at start can be set until then, and
   * thresholds at any time; -1 selects the default for the relation of the two processes. */
  const MPI_Count inline_max = 2048;
  const MPI_Count unexpected_max = read_number("p2p_unexpected_bytes_max");
  expect(write_number("shm_buffer_count", 7), MPI_T_ERR_CVAR_SET_NEVER, "shm_buffer_count");
  expect(write_number("p2p_eager_bytes_max", -2), MPI_T_ERR_INVALID, "p2p_eager_bytes_max");
  CHECK(read_number("p2p_eager_bytes_max") == -1, "set before the first call");
  expect(write_number("p2p_unexpected_bytes_max", -1), MPI_T_ERR_INVALID, "p2p_unexpected_bytes_max");
  expect(write_number("p2p_unexpected_bytes_max", unexpected_max), MPI_SUCCESS, "p2p_unexpected_bytes_max");
  expect(write_number("p2p_eager_bytes_max", inline_max / 2), MPI_SUCCESS, "p2p_eager_bytes_max");
  CHECK(read_number("p2p_eager_bytes_max") == inline_max / 2, "not set");
  write_flags_and_texts();

  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  CHECK(handler == MPI_ERRORS_RETURN, "the error handler is not that of the variable");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  expect(write_number("p2p_unexpected_bytes_max", unexpected_max), MPI_T_ERR_CVAR_SET_NOT_NOW,
         "p2p_unexpected_bytes_max");
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == rank_) {
      count_messages(1 - rank_);
    } else {
      help(1 - rank_);
    }
  }

  /* A message of this length counts as long until the limit is changed once more. */
  MPI_T_pvar_session session;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle long_messages =
      pvar_handle(session, pvar("p2p_long_messages_sent", MPI_T_PVAR_CLASS_COUNTER));
  MPI_T_pvar_start(session, long_messages);
  char* data = calloc((size_t)inline_max, 1);
  MPI_Sendrecv_replace(data, (int)inline_max * 3 / 4, MPI_CHAR, 1 - rank_, 5, 1 - rank_, 5, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  CHECK(reading(session, long_messages) == 1, "%llu long messages", reading(session, long_messages));
  expect(write_number("p2p_eager_bytes_max", -1), MPI_SUCCESS, "p2p_eager_bytes_max");
  MPI_Sendrecv_replace(data, (int)inline_max * 3 / 4, MPI_CHAR, 1 - rank_, 5, 1 - rank_, 5, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  CHECK(reading(session, long_messages) == 1, "%llu long messages", reading(session, long_messages));
  free(data);

  expect(MPI_T_finalize(), MPI_SUCCESS, "MPI_T_finalize");
  MPI_Finalize();
  check_cvars();
  expect(MPI_T_finalize(), MPI_SUCCESS, "MPI_T_finalize");
  expect(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED, "after MPI_T_finalize");
  return 0;
}
