// Windows of one-sided communication (MPI 5.0 chapter 12) as their users see them. What they do is in
// src/rma.
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
  /// A communicator of its own, of the same processes; one reference held.
  Comm* comm = nullptr;
  rma::Window* window = nullptr;
  Errhandler* errhandler = nullptr;  // one reference held
  Info* info = nullptr;              // as given; nullptr when none was
  // This process's part. The addresses of the last four are what MPI_Win_get_attr gives.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int displacement_unit = 1;
  int flavor = 0;  // MPI_WIN_FLAVOR_CREATE ...
  int model = 0;
  void* allocated = nullptr;  // memory of the library's, to be given back
  void* board = nullptr;      // likewise, for the window's own words
  std::string name;
  Attributes attributes;
};

AttributeHolder holder_of(Win& win);

}  // namespace hearth::objects
