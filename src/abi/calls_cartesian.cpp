// MPI 5.0 sections 8.5.1, 8.5.2, 8.5.5 to 8.5.8: grids of processes.
#include <algorithm>
#include <memory>
#include <utility>

#include "abi/arrangement.h"
#include "abi/comm_making.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/topology.h"

namespace hearth::mpi {
namespace {

using objects::Cartesian;
using objects::Comm;
using objects::Topology;

Status grid_of(const Comm& comm, const Cartesian*& grid) {
  grid = comm.topology == nullptr ? nullptr : comm.topology->cartesian();
  if (grid != nullptr) return {};
  return fail(MPI_ERR_TOPOLOGY, "the communicator is no grid. Remedy: MPI_Cart_create makes one");
}

Status check_room(int maxdims, const Cartesian& grid) {
  if (maxdims >= grid.dimensions()) return {};
  return fail(MPI_ERR_ARG, "maxdims is %d, but the grid has %d dimensions", maxdims, grid.dimensions());
}

/// Checks and stores the shape of a grid on the first ranks of a communicator.
Status read_grid(const Comm& comm, int ndims, const int* dims, const int* periods, Cartesian& grid) {
  if (comm.is_inter()) return fail(MPI_ERR_COMM, "an intercommunicator cannot be a grid");
  int64_t places = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] <= 0) return fail(MPI_ERR_DIMS, "dims[%d] is %d: it must be positive", i, dims[i]);
    places *= dims[i];
    if (places > comm.size) {
      return fail(MPI_ERR_DIMS, "the grid has more places than the communicator has processes (%d)",
                  comm.size);
    }
    grid.dims.push_back(dims[i]);
    grid.periods.push_back(periods[i] != 0);
  }
  return {};
}

/// Each pair of neighbours once.
std::vector<topo::Traffic> traffic_in(const Cartesian& grid) {
  std::vector<topo::Traffic> traffic;
  for (int rank = 0; rank < grid.size(); ++rank) {
    for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
      const int next = grid.neighbor(rank, dimension, 1);
      if (next != MPI_PROC_NULL && next != rank) traffic.push_back({rank, next, 1});
    }
  }
  return traffic;
}

std::vector<int> arrange(const Cartesian& grid, const topo::Distances& distances) {
  return abi::arrange(grid.size(), traffic_in(grid), distances);
}

void set_topology(Comm* comm, Cartesian grid) {
  if (comm == nullptr) return;
  comm->topology = std::make_shared<const Topology>(objects::make_cartesian(std::move(grid), comm->rank));
}

}  // namespace

Status cart_create(Comm& comm_old, int ndims, const int* dims, const int* periods, int reorder,
                   Comm*& comm_cart) {
  Cartesian grid;
  const Status status = read_grid(comm_old, ndims, dims, periods, grid);
  if (comm_old.is_inter()) return status;
  abi::OwnedAllocation owned;
  topo::Distances distances(0);
  HEARTH_TRY(abi::agree_on_allocation(comm_old, owned));
  HEARTH_TRY(abi::agree_on_distances(comm_old, reorder, distances));
  HEARTH_TRY(status);
  HEARTH_TRY(abi::make_arranged(comm_old, std::move(owned), arrange(grid, distances), comm_cart));
  set_topology(comm_cart, std::move(grid));
  return {};
}

// Returns the rank that MPI_Cart_create with reorder=true would assign, as far as this process knows. The
// call is local, so it uses earlier measurements and makes none.
Status cart_map(Comm& comm, int ndims, const int* dims, const int* periods, int& newrank) {
  Cartesian grid;
  HEARTH_TRY(read_grid(comm, ndims, dims, periods, grid));
  const std::vector<int> ranks = arrange(grid, abi::known_distances(comm));
  const auto place = std::find(ranks.begin(), ranks.end(), comm.rank);
  newrank = place == ranks.end() ? MPI_UNDEFINED : static_cast<int>(place - ranks.begin());
  return {};
}

Status dims_create(int nnodes, int ndims, int* dims) {
  return objects::choose_dimensions(nnodes, {dims, static_cast<size_t>(ndims)});
}

Status cartdim_get(Comm& comm, int& ndims) {
  const Cartesian* grid = nullptr;
  HEARTH_TRY(grid_of(comm, grid));
  ndims = grid->dimensions();
  return {};
}

Status cart_get(Comm& comm, int maxdims, int* dims, int* periods, int* coords) {
  const Cartesian* grid = nullptr;
  HEARTH_TRY(grid_of(comm, grid));
  HEARTH_TRY(check_room(maxdims, *grid));
  std::copy(grid->dims.begin(), grid->dims.end(), dims);
  std::copy(grid->periods.begin(), grid->periods.end(), periods);
  const std::vector<int> own = grid->coordinates_of(comm.rank);
  std::copy(own.begin(), own.end(), coords);
  return {};
}

Status cart_coords(Comm& comm, int rank, int maxdims, int* coords) {
  const Cartesian* grid = nullptr;
  HEARTH_TRY(grid_of(comm, grid));
  if (rank < 0 || rank >= comm.size) {
    return fail(MPI_ERR_RANK, "rank is %d, but the ranks of this communicator are 0 to %d", rank,
                comm.size - 1);
  }
  HEARTH_TRY(check_room(maxdims, *grid));
  const std::vector<int> found = grid->coordinates_of(rank);
  std::copy(found.begin(), found.end(), coords);
  return {};
}

Status cart_rank(Comm& comm, const int coords[], int& rank) {
  const Cartesian* grid = nullptr;
  HEARTH_TRY(grid_of(comm, grid));
  if (coords == nullptr && grid->dimensions() > 0) return fail(MPI_ERR_ARG, "coords is a null pointer");
  for (int i = 0; i < grid->dimensions(); ++i) {
    const int length = grid->dims[static_cast<size_t>(i)];
    if (grid->periods[static_cast<size_t>(i)] == 0 && (coords[i] < 0 || coords[i] >= length)) {
      return fail(MPI_ERR_ARG, "coords[%d] is %d, but this dimension goes from 0 to %d and does not wrap", i,
                  coords[i], length - 1);
    }
  }
  rank = grid->rank_of({coords, grid->dims.size()});
  return {};
}

Status cart_shift(Comm& comm, int direction, int disp, int& rank_source, int& rank_dest) {
  const Cartesian* grid = nullptr;
  HEARTH_TRY(grid_of(comm, grid));
  if (direction < 0 || direction >= grid->dimensions()) {
    return fail(MPI_ERR_DIMS, "direction is %d, but the grid's dimensions are 0 to %d", direction,
                grid->dimensions() - 1);
  }
  rank_source = grid->neighbor(comm.rank, direction, -int64_t{disp});
  rank_dest = grid->neighbor(comm.rank, direction, disp);
  return {};
}

// Makes one communicator for each combination of coordinates in the removed dimensions.
Status cart_sub(Comm& comm, const int remain_dims[], Comm*& newcomm) {
  const Cartesian* grid = nullptr;
  HEARTH_TRY(grid_of(comm, grid));
  if (remain_dims == nullptr && grid->dimensions() > 0) {
    return fail(MPI_ERR_ARG, "remain_dims is a null pointer");
  }
  abi::OwnedAllocation owned;
  HEARTH_TRY(abi::agree_on_allocation(comm, owned));
  const std::vector<int> own = grid->coordinates_of(comm.rank);
  Cartesian part;
  for (size_t i = 0; i < grid->dims.size(); ++i) {
    if (remain_dims[i] == 0) continue;
    part.dims.push_back(grid->dims[i]);
    part.periods.push_back(grid->periods[i]);
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < comm.size; ++rank) {
    const std::vector<int> coordinates = grid->coordinates_of(rank);
    bool belongs = true;
    for (size_t i = 0; i < own.size(); ++i)
      belongs = belongs && (remain_dims[i] != 0 || coordinates[i] == own[i]);
    if (belongs) ranks.push_back(rank);
  }
  HEARTH_TRY(abi::make_arranged(comm, std::move(owned), ranks, newcomm));
  set_topology(newcomm, std::move(part));
  return {};
}

}  // namespace hearth::mpi
