// MPI 5.0 sections 12.3 to 12.5: one-sided operations and synchronization. src/rma implements them.
#include "abi/entry.h"
#include "abi/error.h"
#include "abi/handle.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/win.h"
#include "p2p/engine.h"
#include "rma/window.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using objects::Group;
using objects::Op;
using objects::Win;
using p2p::Request;
using rma::Data;
using rma::Target;

Data data_of(const void* buffer, Count count, Type& type) {
  return {const_cast<void*>(buffer), count, &type};
}

/// An operation on MPI_PROC_NULL has no effect.
Status to_nobody(Request** request) {
  if (request != nullptr) *request = p2p::engine().requests().completed_send();
  return {};
}

Status put_to(const void* origin_addr, Count origin_count, Type& origin_type, int target_rank,
              MPI_Aint target_disp, Count target_count, Type& target_type, Win& win, Request** request) {
  if (target_rank == MPI_PROC_NULL) return to_nobody(request);
  return win.window->put(data_of(origin_addr, origin_count, origin_type),
                         {target_rank, target_disp, target_count, &target_type}, request);
}

Status get_from(void* origin_addr, Count origin_count, Type& origin_type, int target_rank,
                MPI_Aint target_disp, Count target_count, Type& target_type, Win& win, Request** request) {
  if (target_rank == MPI_PROC_NULL) return to_nobody(request);
  return win.window->get(data_of(origin_addr, origin_count, origin_type),
                         {target_rank, target_disp, target_count, &target_type}, request);
}

Status combine_with(const void* origin_addr, Count origin_count, Type& origin_type, const Data* result,
                    int target_rank, MPI_Aint target_disp, Count target_count, Type& target_type, Op& op,
                    Win& win, Request** request) {
  if (target_rank == MPI_PROC_NULL) return to_nobody(request);
  return win.window->accumulate(data_of(origin_addr, origin_count, origin_type),
                                {target_rank, target_disp, target_count, &target_type}, op, result, request);
}

/// MPI_NO_OP reads no origin data, so the origin arguments may have any value.
Status check_origin(const void* address, Count count, const Type& type, const Op& op) {
  if (op.kind == objects::OpKind::no_op) return {};
  if (!abi::usable(&type)) {
    return fail(MPI_ERR_TYPE, "origin_datatype is null or not committed, and op is not MPI_NO_OP");
  }
  if (abi::is_odd(address) && !abi::odd_buffer_fits(address, count, type)) {
    return fail(MPI_ERR_BUFFER, "origin_addr is a null pointer, but the count is not 0");
  }
  return {};
}

Status get_and_combine(const void* origin_addr, Count origin_count, Type& origin_type, void* result_addr,
                       Count result_count, Type& result_type, int target_rank, MPI_Aint target_disp,
                       Count target_count, Type& target_type, Op& op, Win& win, Request** request) {
  HEARTH_TRY(check_origin(origin_addr, origin_count, origin_type, op));
  const Data result = data_of(result_addr, result_count, result_type);
  return combine_with(origin_addr, origin_count, origin_type, &result, target_rank, target_disp, target_count,
                      target_type, op, win, request);
}

}  // namespace

Status put(const void* origin_addr, Count origin_count, Type& origin_datatype, int target_rank,
           MPI_Aint target_disp, Count target_count, Type& target_datatype, Win& win) {
  return put_to(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win, nullptr);
}

Status rput(const void* origin_addr, Count origin_count, Type& origin_datatype, int target_rank,
            MPI_Aint target_disp, Count target_count, Type& target_datatype, Win& win, Request*& request) {
  return put_to(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win, &request);
}

Status get(void* origin_addr, Count origin_count, Type& origin_datatype, int target_rank,
           MPI_Aint target_disp, Count target_count, Type& target_datatype, Win& win) {
  return get_from(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                  target_datatype, win, nullptr);
}

Status rget(void* origin_addr, Count origin_count, Type& origin_datatype, int target_rank,
            MPI_Aint target_disp, Count target_count, Type& target_datatype, Win& win, Request*& request) {
  return get_from(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                  target_datatype, win, &request);
}

Status accumulate(const void* origin_addr, Count origin_count, Type& origin_datatype, int target_rank,
                  MPI_Aint target_disp, Count target_count, Type& target_datatype, Op& op, Win& win) {
  return combine_with(origin_addr, origin_count, origin_datatype, nullptr, target_rank, target_disp,
                      target_count, target_datatype, op, win, nullptr);
}

Status raccumulate(const void* origin_addr, Count origin_count, Type& origin_datatype, int target_rank,
                   MPI_Aint target_disp, Count target_count, Type& target_datatype, Op& op, Win& win,
                   Request*& request) {
  return combine_with(origin_addr, origin_count, origin_datatype, nullptr, target_rank, target_disp,
                      target_count, target_datatype, op, win, &request);
}

Status get_accumulate(const void* origin_addr, Count origin_count, Type& origin_datatype, void* result_addr,
                      Count result_count, Type& result_datatype, int target_rank, MPI_Aint target_disp,
                      Count target_count, Type& target_datatype, Op& op, Win& win) {
  return get_and_combine(origin_addr, origin_count, origin_datatype, result_addr, result_count,
                         result_datatype, target_rank, target_disp, target_count, target_datatype, op, win,
                         nullptr);
}

Status rget_accumulate(const void* origin_addr, Count origin_count, Type& origin_datatype, void* result_addr,
                       Count result_count, Type& result_datatype, int target_rank, MPI_Aint target_disp,
                       Count target_count, Type& target_datatype, Op& op, Win& win, Request*& request) {
  return get_and_combine(origin_addr, origin_count, origin_datatype, result_addr, result_count,
                         result_datatype, target_rank, target_disp, target_count, target_datatype, op, win,
                         &request);
}

Status fetch_and_op(const void* origin_addr, void* result_addr, Type& datatype, int target_rank,
                    MPI_Aint target_disp, Op& op, Win& win) {
  return get_and_combine(origin_addr, 1, datatype, result_addr, 1, datatype, target_rank, target_disp, 1,
                         datatype, op, win, nullptr);
}

Status compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr, Type& datatype,
                        int target_rank, MPI_Aint target_disp, Win& win) {
  using datatype::Element;
  const Element element = datatype.element;
  const bool is_allowed =
      datatype.is_predefined() && datatype.size == datatype.extent &&
      (element == Element::bytes || (element >= Element::int8 && element <= Element::int128) ||
       (element >= Element::boolean8 && element <= Element::logical128) || element == Element::character);
  if (!is_allowed) {
    return fail(
        MPI_ERR_TYPE,
        "datatype is none of those that MPI_Compare_and_swap takes: integers, logicals and bytes (MPI "
        "5.0 section 12.3.4)");
  }
  if (target_rank == MPI_PROC_NULL) return {};
  return win.window->compare_and_swap(origin_addr, compare_addr, result_addr,
                                      {target_rank, target_disp, 1, &datatype});
}

Status win_fence(int assertions, Win& win) {
  return win.window->fence(assertions);
}

Status win_post(Group& group, int assertions, Win& win) {
  return win.window->post(group, assertions);
}

Status win_start(Group& group, int assertions, Win& win) {
  return win.window->start(group, assertions);
}

Status win_complete(Win& win) {
  return win.window->complete();
}

Status win_wait(Win& win) {
  return win.window->wait();
}

Status win_test(Win& win, int& flag) {
  bool over = false;
  HEARTH_TRY(win.window->test(over));
  flag = over;
  return {};
}

// Locking, flushing and unlocking MPI_PROC_NULL has no effect.

Status win_lock(int lock_type, int rank, int assertions, Win& win) {
  return rank == MPI_PROC_NULL ? Status() : win.window->lock(lock_type, rank, assertions);
}

Status win_unlock(int rank, Win& win) {
  return rank == MPI_PROC_NULL ? Status() : win.window->unlock(rank);
}

Status win_lock_all(int assertions, Win& win) {
  return win.window->lock_all(assertions);
}

Status win_unlock_all(Win& win) {
  return win.window->unlock_all();
}

Status win_flush(int rank, Win& win) {
  return rank == MPI_PROC_NULL ? Status() : win.window->flush(rank);
}

Status win_flush_all(Win& win) {
  return win.window->flush_all_locked();
}

// Implemented as full completion: the replies arrive shortly after the data have been sent.

Status win_flush_local(int rank, Win& win) {
  return win_flush(rank, win);
}

Status win_flush_local_all(Win& win) {
  return win_flush_all(win);
}

Status win_sync(Win& win) {
  return win.window->sync();
}

}  // namespace hearth::mpi
