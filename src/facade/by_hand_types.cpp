// Datatypes: the arguments of constructors, MPI_LB and MPI_UB, lengths of arrays of datatypes; and the
// datatypes of events.
#include "facade_by_hand.h"

namespace hearth::facade {

int peer_count(Comm comm) {
  const MPI_Comm here = comm_in(comm);
  int inter = 0, count = 0;
  // The call that follows reports the error, so no error handler may run here.
  if (core().Comm_toint(here) == core().Comm_toint(MPI_COMM_NULL)) return 0;
  core().Comm_test_inter(here, &inter);
  inter != 0 ? core().Comm_remote_size(here, &count) : core().Comm_size(here, &count);
  return count;
}

int entries_at_root(int count, int root, Comm comm) {
  const MPI_Comm here = comm_in(comm);
  int rank = MPI_PROC_NULL;
  if (core().Comm_toint(here) == core().Comm_toint(MPI_COMM_NULL)) return 0;
  core().Comm_rank(here, &rank);
  return rank == rank_in(root) ? count : 0;
}

int degree(Comm comm, Direction direction) {
  const MPI_Comm here = comm_in(comm);
  int topology = MPI_UNDEFINED, in = 0, out = 0, weighted = 0, rank = 0;
  if (core().Comm_toint(here) == core().Comm_toint(MPI_COMM_NULL)) return 0;
  core().Topo_test(here, &topology);
  switch (topology) {
    case MPI_CART:
      core().Cartdim_get(here, &in);
      return 2 * in;
    case MPI_GRAPH:
      core().Comm_rank(here, &rank);
      core().Graph_neighbors_count(here, rank, &in);
      return in;
    case MPI_DIST_GRAPH:
      core().Dist_graph_neighbors_count(here, &in, &out, &weighted);
      return direction == Direction::source ? in : out;
    default:
      return 0;
  }
}

namespace {

/// Converts `count` numbers from position `first` of the integers of MPI_Type_get_contents.
template <auto out>
void convert_at(int* integers, int available, int first, int count) {
  for (int i = first; i < first + count && i < available; ++i) integers[i] = out(integers[i]);
}

/// The integers that are constants (MPI 5.0 section 5.1.13). The large form keeps sizes among the counts.
void convert_integers(int combiner, bool large, int* integers, int available) {
  if (combiner == MPI_COMBINER_SUBARRAY && available > 0) {
    convert_at<order_out>(integers, available, large ? 1 : 1 + 3 * integers[0], 1);
  }
  if (combiner == MPI_COMBINER_DARRAY && available > 2) {
    const int dimensions = integers[2], first = large ? 3 : 3 + dimensions;
    convert_at<distribution_out>(integers, available, first, dimensions);
    convert_at<distribution_argument_out>(integers, available, first + dimensions, dimensions);
    convert_at<order_out>(integers, available, first + 3 * dimensions, 1);
  }
}

struct Envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = 0;
};

void write_contents(const Envelope& envelope, MPI_Count max_integers, MPI_Count max_types, int* integers,
                    const MPI_Datatype* types, Datatype* types_there) {
  const MPI_Count available = max_integers < envelope.integers ? max_integers : envelope.integers;
  convert_integers(envelope.combiner, envelope.counts > 0, integers, static_cast<int>(available));
  for (MPI_Count i = 0; i < envelope.types && i < max_types; ++i) types_there[i] = type_out(types[i]);
}

/// Blocks that are markers: MPI_LB and MPI_UB, datatypes of size 0 that MPI 3.0 removed. The least MPI_LB and
/// the greatest MPI_UB determine the bounds (MPI 2.2 section 4.1.6).
struct Markers {
  bool any = false;
  bool has_lower = false, has_upper = false;  // false for a block of length 0
  MPI_Count lower = 0, upper = 0;

  static bool is_marker(Datatype type) { return type == lower_bound_type() || type == upper_bound_type(); }
  void add(Datatype type, MPI_Count length, MPI_Count displacement) {
    any = true;
    if (length <= 0) return;
    if (type == lower_bound_type()) {
      lower = has_lower && lower < displacement ? lower : displacement;
      has_lower = true;
    } else {
      upper = has_upper && upper > displacement ? upper : displacement;
      has_upper = true;
    }
  }
};

/// The bounds of markers become those of a resized type. Bounds that nested types have from their own markers
/// are used if this type has no marker of that kind.
template <class Number, class Create>
int create_struct(Number count, const Number* lengths, const auto* displacements, const Datatype* types,
                  Datatype* newtype, Create create) {
  const bool given = types != nullptr && lengths != nullptr && displacements != nullptr && newtype != nullptr;
  Markers markers;
  for (Number i = 0; given && i < count; ++i) {
    if (Markers::is_marker(types[i])) markers.add(types[i], lengths[i], displacements[i]);
  }
  ArrayIn<type_in> types_here(types, count);
  Out<type_out> result(newtype);
  if (!markers.any) {
    const int code = create(count, lengths, displacements, types_here.get(), result.get());
    result.finish();
    return code_out(code);
  }
  using Displacement = std::remove_cvref_t<decltype(displacements[0])>;
  Array<Number> lengths_kept(count);
  Array<Displacement> displacements_kept(count);
  if (lengths_kept.data() == nullptr || displacements_kept.data() == nullptr || types_here.get() == nullptr)
    return code_out(MPI_ERR_NO_MEM);
  Number kept = 0;
  for (Number i = 0; i < count; ++i) {
    if (Markers::is_marker(types[i])) continue;
    lengths_kept.data()[kept] = lengths[i];
    displacements_kept.data()[kept] = displacements[i];
    types_here.get()[kept++] = types_here.get()[i];
  }
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  int code = create(kept, lengths_kept.data(), displacements_kept.data(), types_here.get(), &whole);
  if (code != MPI_SUCCESS) return code_out(code);
  MPI_Count first = 0, extent = 0;
  core().Type_get_extent_c(whole, &first, &extent);
  const MPI_Count end = markers.has_upper ? markers.upper : first + extent;
  if (markers.has_lower) first = markers.lower;
  code = core().Type_create_resized_c(whole, first, end - first, result.get());
  core().Type_free(&whole);
  result.finish();
  return code_out(code);
}

}  // namespace

namespace by_hand {

int Type_get_contents(Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                      int array_of_integers[], MPI_Aint array_of_addresses[], Datatype array_of_datatypes[]) {
  const MPI_Datatype here = type_in(datatype);
  Array<MPI_Datatype> types(max_datatypes);
  const int code =
      core().Type_get_contents(here, max_integers, max_addresses, max_datatypes, array_of_integers,
                               array_of_addresses, array_of_datatypes != nullptr ? types.data() : nullptr);
  if (code != MPI_SUCCESS) return code_out(code);
  Envelope envelope;
  core().Type_get_envelope_c(here, &envelope.integers, &envelope.addresses, &envelope.counts, &envelope.types,
                             &envelope.combiner);
  write_contents(envelope, max_integers, max_datatypes, array_of_integers, types.data(), array_of_datatypes);
  return MPI_SUCCESS;
}

int Type_get_contents_c(Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                        MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                        MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                        Datatype array_of_datatypes[]) {
  const MPI_Datatype here = type_in(datatype);
  Array<MPI_Datatype> types(max_datatypes);
  const int code = core().Type_get_contents_c(
      here, max_integers, max_addresses, max_large_counts, max_datatypes, array_of_integers,
      array_of_addresses, array_of_large_counts, array_of_datatypes != nullptr ? types.data() : nullptr);
  if (code != MPI_SUCCESS) return code_out(code);
  Envelope envelope;
  core().Type_get_envelope_c(here, &envelope.integers, &envelope.addresses, &envelope.counts, &envelope.types,
                             &envelope.combiner);
  write_contents(envelope, max_integers, max_datatypes, array_of_integers, types.data(), array_of_datatypes);
  return MPI_SUCCESS;
}

int Type_create_struct(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                       const Datatype array_of_types[], Datatype* newtype) {
  return create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype,
                       core().Type_create_struct);
}

int Type_create_struct_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                         const MPI_Count array_of_displacements[], const Datatype array_of_types[],
                         Datatype* newtype) {
  return create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype,
                       core().Type_create_struct_c);
}

int T_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                     Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int* num_elements,
                     MPI_T_enum* enumtype, Info* info, char* desc, int* desc_len, int* bind) {
  const int room = num_elements != nullptr ? *num_elements : 0;
  Array<MPI_Datatype> types(room);
  Out<info_out> info_(info);
  const int code = core().T_event_get_info(
      event_index, name, name_len, verbosity, array_of_datatypes != nullptr ? types.data() : nullptr,
      array_of_displacements, num_elements, enumtype, info_.get(), desc, desc_len, bind);
  if (code != MPI_SUCCESS) return code_out(code);
  for (int i = 0; array_of_datatypes != nullptr && i < room && i < *num_elements; ++i) {
    array_of_datatypes[i] = type_out(types.data()[i]);
  }
  info_.finish();
  convert_in_place<verbosity_out>(verbosity, 1, code);
  convert_in_place<binding_out>(bind, 1, code);
  return MPI_SUCCESS;
}

}  // namespace by_hand
}  // namespace hearth::facade
