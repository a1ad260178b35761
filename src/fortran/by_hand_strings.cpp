// Initialisation, strings whose length is an argument, spawning, the contents of datatypes.
#include <algorithm>
#include <utility>

#include "fortran/by_hand.h"

namespace hearth::fortran {
namespace {

constexpr int kNoMemory = MPI_ERR_NO_MEM;

int out_of_memory(const char* what) {
  return refuse(MPI_COMM_SELF, what, "no memory for the converted arguments", kNoMemory);
}

void free_texts(char** texts) {
  for (char** text = texts; text != nullptr && *text != nullptr; ++text) std::free(*text);
  std::free(texts);
}

/// The number of strings before the first blank one, which ends a list of arguments.
size_t count_before_blank(const char* first, size_t length, size_t step) {
  const auto is_blank = [length](const char* text) {
    return std::all_of(text, text + length, [](char letter) { return letter == ' '; });
  };
  size_t count = 0;
  while (!is_blank(first + count * step * length)) ++count;
  return count;
}

/// `count` strings of C, from CHARACTERs of `length` characters that are `step` of them apart. get() is null
/// if there is no memory.
class TextList {
 public:
  TextList(const char* first, size_t length, size_t step, size_t count) {
    if (first == nullptr) return;
    texts_ = static_cast<char**>(std::calloc(count + 1, sizeof(char*)));
    for (size_t i = 0; texts_ != nullptr && i < count; ++i) {
      const TextIn text(first + i * step * length, length);
      texts_[i] = text.get() != nullptr ? strdup(text.get()) : nullptr;
      if (texts_[i] == nullptr) free_texts(release());
    }
  }
  TextList(const TextList&) = delete;
  TextList& operator=(const TextList&) = delete;
  ~TextList() { free_texts(texts_); }
  char** get() const { return texts_; }
  char** release() { return std::exchange(texts_, nullptr); }

 private:
  char** texts_ = nullptr;
};

/// The lists of arguments of MPI_Comm_spawn_multiple, array_of_argv(count, *). get() is null if there is no
/// memory.
class TextLists {
 public:
  TextLists(const char* first, size_t length, size_t count) {
    if (first == nullptr) return;
    lists_ = static_cast<char***>(std::calloc(count + 1, sizeof(char**)));
    for (size_t i = 0; lists_ != nullptr && i < count; ++i) {
      const char* own = first + i * length;
      lists_[i] = TextList(own, length, count, count_before_blank(own, length, count)).release();
      if (lists_[i] == nullptr) free_lists();
    }
  }
  TextLists(const TextLists&) = delete;
  TextLists& operator=(const TextLists&) = delete;
  ~TextLists() { free_lists(); }
  char*** get() const { return lists_; }

 private:
  void free_lists() {
    char*** lists = std::exchange(lists_, nullptr);
    for (char*** list = lists; list != nullptr && *list != nullptr; ++list) free_texts(*list);
    std::free(lists);
  }

  char*** lists_ = nullptr;
};

bool is_root(const int* comm, const int* root) {
  int rank = -1;
  return PMPI_Comm_rank(comm_in(*comm), &rank) == MPI_SUCCESS && rank == *root;
}

int* errcodes_in(int* errcodes) {
  return are_errcodes_ignored(errcodes) ? MPI_ERRCODES_IGNORE : errcodes;
}

/// Calls `get` with a buffer for `*length` characters and a terminating zero, and converts length and text.
template <class Get>
int get_text(int* length, char* to, size_t to_length, const Get& get) {
  const int given = *length;
  Scratch<char, 1025> buffer(given + 1);
  if (buffer.get() == nullptr) return MPI_ERR_NO_MEM;
  buffer.get()[0] = '\0';
  int needed = given > 0 ? given + 1 : 0;
  bool found = true;
  const int code = get(&needed, buffer.get(), found);
  if (code != MPI_SUCCESS) return code;
  if (found) {
    if (given > 0) {
      const auto limit = static_cast<size_t>(given);
      fill(to, to_length < limit ? to_length : limit, buffer.get());
      if (to_length > limit) std::memset(to + limit, ' ', to_length - limit);
    }
    *length = needed > 0 ? needed - 1 : 0;
  }
  return code;
}

}  // namespace

namespace by_hand {

int Init(decltype(&PMPI_Init) call) {
  const int code = call(nullptr, nullptr);
  read_booleans();
  return code;
}

int Init_thread(const int* required, int* provided, decltype(&PMPI_Init_thread) call) {
  const int code = call(nullptr, nullptr, *required, provided);
  read_booleans();
  return code;
}

int Info_create_env(int* info, decltype(&PMPI_Info_create_env) call) {
  Out<info_out> info_(info);
  const int code = call(0, nullptr, info_.get());
  info_.finish();
  return code;
}

int Info_get(const int* info, const char* key, const int* valuelen, char* value, int* flag, size_t key_len,
             size_t value_len, decltype(&PMPI_Info_get) call) {
  const TextIn key_(key, key_len, Trim::both);
  LogicalOut flag_(flag);
  Scratch<char, MPI_MAX_INFO_VAL + 1> value_(static_cast<int64_t>(*valuelen) + 1);
  if (value_.get() == nullptr) return out_of_memory("MPI_Info_get");
  const int code = call(info_in(*info), key_.get(), *valuelen, value_.get(), flag_.get());
  if (code == MPI_SUCCESS && *flag_.get() != 0) fill(value, value_len, value_.get());
  flag_.finish();
  return code;
}

int Info_get_string(const int* info, const char* key, int* buflen, char* value, int* flag, size_t key_len,
                    size_t value_len, decltype(&PMPI_Info_get_string) call) {
  const TextIn key_(key, key_len, Trim::both);
  LogicalOut flag_(flag);
  const int code = get_text(buflen, value, value_len, [&](int* needed, char* buffer, bool& found) {
    const int result = call(info_in(*info), key_.get(), needed, buffer, flag_.get());
    found = result == MPI_SUCCESS && *flag_.get() != 0;
    return result;
  });
  flag_.finish();
  return code;
}

int Session_get_nth_pset(const int* session, const int* info, const int* n, int* pset_len, char* pset_name,
                         size_t pset_name_len, decltype(&PMPI_Session_get_nth_pset) call) {
  return get_text(pset_len, pset_name, pset_name_len, [&](int* needed, char* buffer, bool&) {
    return call(session_in(*session), info_in(*info), *n, needed, buffer);
  });
}

int Comm_spawn(const char* command, const char* argv, const int* maxprocs, const int* info, const int* root,
               const int* comm, int* intercomm, int* array_of_errcodes, size_t command_len, size_t argv_len,
               decltype(&PMPI_Comm_spawn) call) {
  // Command and arguments are significant at the root only.
  const bool here = is_root(comm, root);
  const TextIn command_(here ? command : "", here ? command_len : 0);
  const bool has_arguments = here && !is_argv_null(argv);
  const size_t arguments = has_arguments ? count_before_blank(argv, argv_len, 1) : 0;
  const TextList argv_(has_arguments ? argv : nullptr, argv_len, 1, arguments);
  if (has_arguments && argv_.get() == nullptr) return out_of_memory("MPI_Comm_spawn");
  Out<comm_out> intercomm_(intercomm);
  const int code = call(command_.get(), argv_.get(), *maxprocs, info_in(*info), *root, comm_in(*comm),
                        intercomm_.get(), errcodes_in(array_of_errcodes));
  intercomm_.finish();
  return code;
}

int Comm_spawn_multiple(const int* count, const char* array_of_commands, const char* array_of_argv,
                        const int* array_of_maxprocs, const int* array_of_info, const int* root,
                        const int* comm, int* intercomm, int* array_of_errcodes, size_t array_of_commands_len,
                        size_t array_of_argv_len, decltype(&PMPI_Comm_spawn_multiple) call) {
  const int given = is_root(comm, root) && *count > 0 ? *count : 0;
  const auto programs = static_cast<size_t>(given);
  const TextList commands(given > 0 ? array_of_commands : nullptr, array_of_commands_len, 1, programs);
  const bool has_arguments = given > 0 && !are_argvs_null(array_of_argv);
  const TextLists arguments(has_arguments ? array_of_argv : nullptr, array_of_argv_len, programs);
  HandlesIn<info_in> infos(array_of_info, given);
  const bool complete = (given == 0 || commands.get() != nullptr) && infos.get() != nullptr &&
                        (!has_arguments || arguments.get() != nullptr);
  if (!complete) return out_of_memory("MPI_Comm_spawn_multiple");
  Out<comm_out> intercomm_(intercomm);
  const int code = call(*count, commands.get(), arguments.get(), array_of_maxprocs, infos.get(), *root,
                        comm_in(*comm), intercomm_.get(), errcodes_in(array_of_errcodes));
  intercomm_.finish();
  return code;
}

int Type_get_contents(const int* datatype, const int* max_integers, const int* max_addresses,
                      const int* max_datatypes, int* array_of_integers, MPI_Aint* array_of_addresses,
                      int* array_of_datatypes, decltype(&PMPI_Type_get_contents) call) {
  Scratch<MPI_Datatype> types(*max_datatypes);
  if (types.get() == nullptr) return out_of_memory("MPI_Type_get_contents");
  const int code = call(type_in(*datatype), *max_integers, *max_addresses, *max_datatypes, array_of_integers,
                        array_of_addresses, types.get());
  int integers = 0;
  int addresses = 0;
  int used = 0;
  int combiner = 0;
  if (code == MPI_SUCCESS) {
    PMPI_Type_get_envelope(type_in(*datatype), &integers, &addresses, &used, &combiner);
    for (int i = 0; i < used && i < *max_datatypes; ++i) array_of_datatypes[i] = type_out(types.get()[i]);
  }
  return code;
}

int Type_get_contents_c(const int* datatype, const MPI_Count* max_integers, const MPI_Count* max_addresses,
                        const MPI_Count* max_large_counts, const MPI_Count* max_datatypes,
                        int* array_of_integers, MPI_Aint* array_of_addresses,
                        MPI_Count* array_of_large_counts, int* array_of_datatypes,
                        decltype(&PMPI_Type_get_contents_c) call) {
  Scratch<MPI_Datatype> types(*max_datatypes);
  if (types.get() == nullptr) return out_of_memory("MPI_Type_get_contents");
  const int code = call(type_in(*datatype), *max_integers, *max_addresses, *max_large_counts, *max_datatypes,
                        array_of_integers, array_of_addresses, array_of_large_counts, types.get());
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count used = 0;
  int combiner = 0;
  if (code == MPI_SUCCESS) {
    PMPI_Type_get_envelope_c(type_in(*datatype), &integers, &addresses, &large_counts, &used, &combiner);
    for (MPI_Count i = 0; i < used && i < *max_datatypes; ++i) {
      array_of_datatypes[i] = type_out(types.get()[i]);
    }
  }
  return code;
}

}  // namespace by_hand
}  // namespace hearth::fortran
