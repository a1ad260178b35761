// The collective operations of MPI 5.0 chapter 6. Each function adds the steps of this process to a Schedule,
// which serves the blocking, the non-blocking and the persistent form.
//
// Arguments are those of the MPI functions, already checked; MPI_IN_PLACE is allowed where the standard
// allows it. Arguments that are not significant on this process may have any value. Arrays are read during
// the call only. Called under the library's lock.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "coll/schedule.h"
#include "datatype/type.h"

namespace hearth::coll {

Status barrier(Schedule& schedule);
Status bcast(Schedule& schedule, void* buffer, Count count, Type& type, int root);
/// Broadcasts within the local group, also on an intercommunicator.
Status bcast_in_group(Schedule& schedule, void* buffer, Count count, Type& type, int root);

Status gather(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
              Count receive_count, Type& receive_type, int root);
Status gatherv(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
               CountArray receive_counts, CountArray displacements, Type& receive_type, int root);
Status scatter(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
               Count receive_count, Type& receive_type, int root);
Status scatterv(Schedule& schedule, const void* send, CountArray send_counts, CountArray displacements,
                Type& send_type, void* receive, Count receive_count, Type& receive_type, int root);
Status allgather(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                 Count receive_count, Type& receive_type);
Status allgatherv(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                  CountArray receive_counts, CountArray displacements, Type& receive_type);
Status alltoall(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                Count receive_count, Type& receive_type);
Status alltoallv(Schedule& schedule, const void* send, CountArray send_counts, CountArray send_displacements,
                 Type& send_type, void* receive, CountArray receive_counts, CountArray receive_displacements,
                 Type& receive_type);
/// Displacements are in bytes; the arrays of types have an entry for each rank.
Status alltoallw(Schedule& schedule, const void* send, CountArray send_counts, CountArray send_displacements,
                 Type* const* send_types, void* receive, CountArray receive_counts,
                 CountArray receive_displacements, Type* const* receive_types);

// Reductions. The order in which ranks are combined depends only on the number of ranks and the size of the
// data, so results are the same from run to run, and MPI_Allreduce gives the same result on all ranks.
// Operations that do not commute are applied in rank order. With coll_same_bits the order does not depend on
// the size either.
Status reduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op, int root);
/// Reduces within the local group, also on an intercommunicator. `send` is not MPI_IN_PLACE, but may be equal
/// to `receive`.
Status reduce_in_group(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op,
                       int root);
Status allreduce(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op);
Status reduce_scatter(Schedule& schedule, const void* send, void* receive, CountArray receive_counts,
                      Type& type, Op& op);
Status reduce_scatter_block(Schedule& schedule, const void* send, void* receive, Count receive_count,
                            Type& type, Op& op);
Status scan(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op);
Status exscan(Schedule& schedule, const void* send, void* receive, Count count, Type& type, Op& op);

template <>
inline constexpr bool kUsesRegion<barrier> = true;
template <>
inline constexpr bool kUsesRegion<bcast> = true;
template <>
inline constexpr bool kUsesRegion<gather> = true;
template <>
inline constexpr bool kUsesRegion<scatter> = true;
template <>
inline constexpr bool kUsesRegion<allgather> = true;
template <>
inline constexpr bool kUsesRegion<allgatherv> = true;
template <>
inline constexpr bool kUsesRegion<alltoall> = true;
template <>
inline constexpr bool kUsesRegion<reduce> = true;
template <>
inline constexpr bool kUsesRegion<allreduce> = true;
template <>
inline constexpr bool kUsesRegion<reduce_scatter> = true;
template <>
inline constexpr bool kUsesRegion<reduce_scatter_block> = true;
template <>
inline constexpr bool kUsesRegion<scan> = true;
template <>
inline constexpr bool kUsesRegion<exscan> = true;

// Fast paths of blocking calls, without a schedule (coll/flat_call.h).

template <>
struct FastPath<barrier> {
  static bool run(Comm& comm, Status& outcome);
};
template <>
struct FastPath<bcast> {
  static bool run(Comm& comm, Status& outcome, void* buffer, Count count, Type& type, int root);
};
template <>
struct FastPath<gather> {
  static bool run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                  void* receive, Count receive_count, Type& receive_type, int root);
};
template <>
struct FastPath<scatter> {
  static bool run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                  void* receive, Count receive_count, Type& receive_type, int root);
};
template <>
struct FastPath<allgather> {
  static bool run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                  void* receive, Count receive_count, Type& receive_type);
};
template <>
struct FastPath<alltoall> {
  static bool run(Comm& comm, Status& outcome, const void* send, Count send_count, Type& send_type,
                  void* receive, Count receive_count, Type& receive_type);
};
template <>
struct FastPath<reduce> {
  static bool run(Comm& comm, Status& outcome, const void* send, void* receive, Count count, Type& type,
                  Op& op, int root);
};
template <>
struct FastPath<allreduce> {
  static bool run(Comm& comm, Status& outcome, const void* send, void* receive, Count count, Type& type,
                  Op& op);
};
template <>
struct FastPath<reduce_scatter_block> {
  static bool run(Comm& comm, Status& outcome, const void* send, void* receive, Count receive_count,
                  Type& type, Op& op);
};
template <>
struct FastPath<scan> {
  static bool run(Comm& comm, Status& outcome, const void* send, void* receive, Count count, Type& type,
                  Op& op);
};
template <>
struct FastPath<exscan> {
  static bool run(Comm& comm, Status& outcome, const void* send, void* receive, Count count, Type& type,
                  Op& op);
};

}  // namespace hearth::coll
