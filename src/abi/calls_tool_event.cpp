// MPI 5.0 section 15.3.8: events. Hearth has no event types and no sources, which the standard allows, so
// every index is out of range, every name unknown, and no registration or event can exist.
#include "abi/tool.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

using abi::tool_error;

Status t_source_get_num(int& num_sources) {
  num_sources = 0;
  return {};
}

Status t_source_get_info(int, char*, int*, char*, int*, MPI_T_source_order*, MPI_Count*, MPI_Count*,
                         MPI_Info*) {
  return tool_error(MPI_T_ERR_INVALID_INDEX);
}

Status t_source_get_timestamp(int, MPI_Count*) {
  return tool_error(MPI_T_ERR_INVALID_INDEX);
}

Status t_event_get_num(int& num_events) {
  num_events = 0;
  return {};
}

Status t_event_get_info(int, char*, int*, int*, MPI_Datatype[], MPI_Aint[], int*, MPI_T_enum*, MPI_Info*,
                        char*, int*, int*) {
  return tool_error(MPI_T_ERR_INVALID_INDEX);
}

Status t_event_get_index(const char*, int&) {
  return tool_error(MPI_T_ERR_INVALID_NAME);
}

Status t_event_handle_alloc(int, void*, objects::Info*, MPI_T_event_registration*) {
  return tool_error(MPI_T_ERR_INVALID_INDEX);
}

Status t_event_handle_free(MPI_T_event_registration, void*, MPI_T_event_free_cb_function) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_handle_get_info(MPI_T_event_registration, objects::Info*&) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_handle_set_info(MPI_T_event_registration, objects::Info*) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_register_callback(MPI_T_event_registration, MPI_T_cb_safety, objects::Info*, void*,
                                 MPI_T_event_cb_function) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_callback_get_info(MPI_T_event_registration, MPI_T_cb_safety, objects::Info*&) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_callback_set_info(MPI_T_event_registration, MPI_T_cb_safety, objects::Info*) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_set_dropped_handler(MPI_T_event_registration, MPI_T_event_dropped_cb_function) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_read(MPI_T_event_instance, int, void*) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_copy(MPI_T_event_instance, void*) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_get_timestamp(MPI_T_event_instance, MPI_Count*) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

Status t_event_get_source(MPI_T_event_instance, int&) {
  return tool_error(MPI_T_ERR_INVALID_HANDLE);
}

}  // namespace hearth::mpi
