// RMA windows (MPI 5.0 chapter 12): the objects of their handles. src/rma implements the operations.
#pragma once

#include <cstdint>
#include <string>

#include "mpi.h"
#include "objects/attribute.h"
#include "objects/errhandler.h"
#include "objects/info.h"
#include "objects/object.h"

namespace hearth::rma {
class Window;
}

namespace hearth::objects {

struct Comm;

struct Win : Object {
  /// Internal communicator of the same processes; one reference held.
  Comm* comm = nullptr;
  rma::Window* window = nullptr;
  Errhandler* errhandler = nullptr;  // one reference held
  Info* info = nullptr;              // as passed by the user; nullptr if none was
  // This process's part. MPI_Win_get_attr returns the addresses of bytes, displacement_unit, flavor and
  // model.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int displacement_unit = 1;
  int flavor = 0;  // MPI_WIN_FLAVOR_CREATE ...
  int model = 0;
  void* allocated = nullptr;  // memory that the library allocated and must free
  void* board = nullptr;      // likewise, for the shared words of the window
  std::string name;
  Attributes attributes;
};

AttributeHolder holder_of(Win& win);

}  // namespace hearth::objects
