// MPI 5.0 sections 15.3.4, 15.3.5 and 15.3.9: initialization of the tool interface, enumerations, categories.
#include <cstring>
#include <vector>

#include "abi/state.h"
#include "abi/tool.h"
#include "base/param.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {
namespace {

using abi::put;
using abi::put_text;
using abi::tool_error;

Status check_category(int index) {
  return index >= 0 && index < abi::tool_category_count ? Status() : tool_error(MPI_T_ERR_INVALID_INDEX);
}

// Writes the indices of a category's variables, as many as there is room for, and returns their number.
template <class NameOf>
int members(int category, int count, NameOf name_of, int room, int* indices) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    if (abi::category_of(name_of(i)) != category) continue;
    if (found < room) indices[found] = i;
    ++found;
  }
  return found;
}

int cvars_of(int category, int room, int* indices) {
  const std::vector<param::Row> rows = param::rows();
  return members(
      category, static_cast<int>(rows.size()), [&rows](int i) { return rows[static_cast<size_t>(i)].name; },
      room, indices);
}

int pvars_of(int category, int room, int* indices) {
  return members(category, abi::pvar_count(), abi::pvar_name, room, indices);
}

}  // namespace

Status t_init_thread(int required, int& provided) {
  for (const int level :
       {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE}) {
    if (required != level) continue;
    ++abi::tool_users;
    provided = required;
    return {};
  }
  return tool_error(MPI_T_ERR_INVALID);
}

Status t_finalize() {
  if (abi::tool_users == 0) return tool_error(MPI_T_ERR_NOT_INITIALIZED);
  if (--abi::tool_users > 0) return {};
  abi::drop_cvar_handles();
  abi::drop_pvar_sessions();
  return {};
}

// The only enumeration: the values of a flag.

Status t_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  if (enumtype != abi::flag_enum()) return tool_error(MPI_T_ERR_INVALID_HANDLE);
  put(num, 2);
  put_text("flag", name, name_len);
  return {};
}

Status t_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) {
  if (enumtype != abi::flag_enum()) return tool_error(MPI_T_ERR_INVALID_HANDLE);
  if (indx < 0 || indx > 1) return tool_error(MPI_T_ERR_INVALID_INDEX);
  put(value, indx);
  put_text(indx == 0 ? "no" : "yes", name, name_len);
  return {};
}

// Categories. They never change; none contains another category or an event.

Status t_category_get_num(int& num_cat) {
  num_cat = abi::tool_category_count;
  return {};
}

Status t_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                           int* num_cvars, int* num_pvars, int* num_categories) {
  HEARTH_TRY(check_category(cat_index));
  put_text(abi::tool_categories[cat_index].name, name, name_len);
  put_text(abi::tool_categories[cat_index].text, desc, desc_len);
  put(num_cvars, cvars_of(cat_index, 0, nullptr));
  put(num_pvars, pvars_of(cat_index, 0, nullptr));
  put(num_categories, 0);
  return {};
}

Status t_category_get_index(const char* name, int& cat_index) {
  for (int i = 0; i < abi::tool_category_count; ++i) {
    if (std::strcmp(name, abi::tool_categories[i].name) != 0) continue;
    cat_index = i;
    return {};
  }
  return tool_error(MPI_T_ERR_INVALID_NAME);
}

Status t_category_get_cvars(int cat_index, int len, int* indices) {
  HEARTH_TRY(check_category(cat_index));
  cvars_of(cat_index, len, indices);
  return {};
}

Status t_category_get_pvars(int cat_index, int len, int* indices) {
  HEARTH_TRY(check_category(cat_index));
  pvars_of(cat_index, len, indices);
  return {};
}

Status t_category_get_categories(int cat_index, int, int*) {
  return check_category(cat_index);
}

Status t_category_get_num_events(int cat_index, int& num_events) {
  HEARTH_TRY(check_category(cat_index));
  num_events = 0;
  return {};
}

Status t_category_get_events(int cat_index, int, int*) {
  return check_category(cat_index);
}

Status t_category_changed(int& update_number) {
  update_number = 0;
  return {};
}

}  // namespace hearth::mpi
