#include "fortran/convert.h"

#include <cstdio>

namespace hearth::fortran {
namespace {

/// An error code of `error_class` with this text; the class itself if there is no code left.
int code_for(int error_class, const char* what, const char* why) {
  char text[MPI_MAX_ERROR_STRING];
  std::snprintf(text, sizeof text, "%s: %s", what, why);
  int code = MPI_ERR_OTHER;
  if (PMPI_Add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
  PMPI_Add_error_string(code, text);
  return code;
}

bool is_blank(char letter) {
  return letter == ' ';
}

}  // namespace

int refuse(MPI_Comm comm, const char* what, const char* why, int error_class) {
  const int code = code_for(error_class, what, why);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

int refuse(MPI_Win win, const char* what, const char* why) {
  const int code = code_for(MPI_ERR_BUFFER, what, why);
  PMPI_Win_call_errhandler(win, code);
  return code;
}

int refuse(MPI_File file, const char* what, const char* why) {
  const int code = code_for(MPI_ERR_BUFFER, what, why);
  PMPI_File_call_errhandler(file, code);
  return code;
}

void read_booleans() {
  Booleans given;
  int is_set = 0;
  const int code = PMPI_Abi_get_fortran_booleans(sizeof(int), &given.yes, &given.no, &is_set);
  if (code == MPI_SUCCESS && is_set != 0) booleans = given;
}

TextIn::TextIn(const char* text, size_t length, Trim trim) {
  while (length > 0 && is_blank(text[length - 1])) --length;
  while (trim == Trim::both && length > 0 && is_blank(*text)) {
    ++text;
    --length;
  }
  if (length >= kInline) {
    text_ = static_cast<char*>(std::malloc(length + 1));
    if (text_ == nullptr) return;
  }
  std::memcpy(text_, text, length);
  text_[length] = '\0';
}

void fill(char* to, size_t length, const char* text) {
  const size_t used = strnlen(text, length);
  std::memcpy(to, text, used);
  std::memset(to + used, ' ', length - used);
}

int peer_count(int comm) {
  int is_inter = 0;
  int size = 0;
  if (PMPI_Comm_test_inter(comm_in(comm), &is_inter) != MPI_SUCCESS) return 0;
  const int code =
      is_inter != 0 ? PMPI_Comm_remote_size(comm_in(comm), &size) : PMPI_Comm_size(comm_in(comm), &size);
  return code == MPI_SUCCESS ? size : 0;
}

int degree(int comm, Direction direction) {
  const MPI_Comm handle = comm_in(comm);
  int topology = MPI_UNDEFINED;
  int sources = 0;
  int destinations = 0;
  if (PMPI_Topo_test(handle, &topology) != MPI_SUCCESS) return 0;
  if (topology == MPI_DIST_GRAPH) {
    int weighted = 0;
    PMPI_Dist_graph_neighbors_count(handle, &sources, &destinations, &weighted);
  } else if (topology == MPI_CART) {
    PMPI_Cartdim_get(handle, &sources);
    destinations = sources *= 2;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    PMPI_Comm_rank(handle, &rank);
    PMPI_Graph_neighbors_count(handle, rank, &sources);
    destinations = sources;
  }
  return direction == Direction::source ? sources : destinations;
}

int cart_dimensions(int comm, int limit) {
  int topology = MPI_UNDEFINED;
  int dimensions = 0;
  if (PMPI_Topo_test(comm_in(comm), &topology) != MPI_SUCCESS || topology != MPI_CART) return 0;
  PMPI_Cartdim_get(comm_in(comm), &dimensions);
  return dimensions < limit ? dimensions : limit;
}

}  // namespace hearth::fortran
