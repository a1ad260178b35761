// MPI 5.0 section 15.3.6: control variables, which are the library's parameters (src/base/param.def). Most
// can be set until the first MPI_Init or MPI_Session_init, which reads them. Thresholds
// (src/tune/threshold.def) and p2p_skew can be set at any time; they apply to messages that start afterwards.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "abi/runtime.h"
#include "abi/tool.h"
#include "base/param.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "tune/threshold.h"

namespace hearth::abi {
namespace {

/// The target of an MPI_T_cvar_handle.
struct CvarHandle {
  int index;
};

std::vector<std::unique_ptr<CvarHandle>>& handles() {
  static auto& all = *new std::vector<std::unique_ptr<CvarHandle>>;
  return all;
}

auto find_handle(MPI_T_cvar_handle handle) {
  return std::find_if(handles().begin(), handles().end(), [handle](const auto& one) {
    return reinterpret_cast<MPI_T_cvar_handle>(one.get()) == handle;
  });
}

char flag_enum_place;

}  // namespace

MPI_T_enum flag_enum() {
  return reinterpret_cast<MPI_T_enum>(&flag_enum_place);
}

void drop_cvar_handles() {
  handles().clear();
}

}  // namespace hearth::abi

namespace hearth::mpi {
namespace {

using abi::put;
using abi::put_text;
using abi::tool_error;

// Size of a text variable, with the closing 0.
constexpr int kTextMax = 1024;

Status find_row(int index, param::Row& row) {
  const std::vector<param::Row> rows = param::rows();
  if (index < 0 || index >= static_cast<int>(rows.size())) return tool_error(MPI_T_ERR_INVALID_INDEX);
  row = rows[static_cast<size_t>(index)];
  return {};
}

Status find_row(MPI_T_cvar_handle handle, int& index, param::Row& row) {
  const auto found = abi::find_handle(handle);
  if (found == abi::handles().end()) return tool_error(MPI_T_ERR_INVALID_HANDLE);
  index = (*found)->index;
  return find_row(index, row);
}

MPI_Datatype datatype_of(param::Kind kind) {
  switch (kind) {
    case param::Kind::text:
      return MPI_CHAR;
    case param::Kind::flag:
      return MPI_INT;
    case param::Kind::bytes:
    case param::Kind::count:
    case param::Kind::time_ns:
      break;
  }
  return MPI_COUNT;
}

}  // namespace

Status t_cvar_get_num(int& num_cvar) {
  num_cvar = static_cast<int>(param::rows().size());
  return {};
}

Status t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                       MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
  param::Row row;
  HEARTH_TRY(find_row(cvar_index, row));
  const abi::ToolCategory& category = abi::tool_categories[abi::category_of(row.name)];
  put_text(row.name, name, name_len);
  put_text(row.text, desc, desc_len);
  put(verbosity, category.verbosity);
  put(datatype, datatype_of(row.kind));
  put(enumtype, row.kind == param::Kind::flag ? abi::flag_enum() : MPI_T_ENUM_NULL);
  put(bind, MPI_T_BIND_NO_OBJECT);
  put(scope, category.scope);
  return {};
}

Status t_cvar_get_index(const char* name, int& cvar_index) {
  const std::vector<param::Row> rows = param::rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::strcmp(name, rows[i].name) != 0) continue;
    cvar_index = static_cast<int>(i);
    return {};
  }
  return tool_error(MPI_T_ERR_INVALID_NAME);
}

Status t_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int& count) {
  if (handle == nullptr) return tool_error(MPI_T_ERR_INVALID);
  param::Row row;
  HEARTH_TRY(find_row(cvar_index, row));
  abi::handles().push_back(std::make_unique<abi::CvarHandle>(abi::CvarHandle{cvar_index}));
  *handle = reinterpret_cast<MPI_T_cvar_handle>(abi::handles().back().get());
  count = row.kind == param::Kind::text ? kTextMax : 1;
  return {};
}

Status t_cvar_handle_free(MPI_T_cvar_handle* handle) {
  if (handle == nullptr) return tool_error(MPI_T_ERR_INVALID);
  const auto found = abi::find_handle(*handle);
  if (found == abi::handles().end()) return tool_error(MPI_T_ERR_INVALID_HANDLE);
  abi::handles().erase(found);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return {};
}

Status t_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  if (buf == nullptr) return tool_error(MPI_T_ERR_INVALID);
  int index = 0;
  param::Row row;
  HEARTH_TRY(find_row(handle, index, row));
  if (row.kind == param::Kind::text) {
    const std::string value = row.value.substr(0, kTextMax - 1);
    std::memcpy(buf, value.c_str(), value.size() + 1);
  } else if (row.kind == param::Kind::flag) {
    *static_cast<int*>(buf) = static_cast<int>(row.number);
  } else {
    *static_cast<MPI_Count*>(buf) = row.number;
  }
  return {};
}

Status t_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  if (buf == nullptr) return tool_error(MPI_T_ERR_INVALID);
  int index = 0;
  param::Row row;
  HEARTH_TRY(find_row(handle, index, row));
  if (abi::tool_categories[abi::category_of(row.name)].scope == MPI_T_SCOPE_CONSTANT) {
    return tool_error(MPI_T_ERR_CVAR_SET_NEVER);
  }
  // The environment of the job has precedence over the program.
  if (std::strcmp(row.source, "environment") == 0) return tool_error(MPI_T_ERR_CVAR_SET_NEVER);
  const auto place = static_cast<size_t>(index);
  const bool at_any_time =
      tune::find_threshold(row.name) != nullptr || place == static_cast<size_t>(param::Id::p2p_skew);
  if (abi::is_attached() && !at_any_time) return tool_error(MPI_T_ERR_CVAR_SET_NOT_NOW);
  if (row.kind == param::Kind::text) {
    const char* text = static_cast<const char*>(buf);
    if (!param::set_text(place, std::string(text, strnlen(text, kTextMax))))
      return tool_error(MPI_T_ERR_INVALID);
    return {};
  }
  const bool flag = row.kind == param::Kind::flag;
  const int64_t value = flag ? *static_cast<const int*>(buf) : *static_cast<const MPI_Count*>(buf);
  if (!param::set_number(place, value)) return tool_error(MPI_T_ERR_INVALID);
  if (at_any_time && abi::is_attached()) p2p::engine().reload_thresholds();
  return {};
}

}  // namespace hearth::mpi
