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

/// The displacements of one marker among the members of a struct, without empty blocks, which add nothing to
/// the type map.
struct Markers {
  bool any = false;
  MPI_Count lowest = 0;
  MPI_Count highest = 0;

  void add(MPI_Count displacement) {
    lowest = any && lowest < displacement ? lowest : displacement;
    highest = any && highest > displacement ? highest : displacement;
    any = true;
  }
};

/// Whether the bounds of a type are given by markers, instead of by its data: then a marker above the lower
/// bound does not change it, otherwise that marker becomes the lower bound.
int find_given_bounds(MPI_Datatype type, MPI_Count lower_bound, bool& given) {
  const MPI_Count lengths[] = {1, 1}, displacements[] = {0, lower_bound + 1};
  MPI_Datatype empty = MPI_DATATYPE_NULL, marker = MPI_DATATYPE_NULL, joined = MPI_DATATYPE_NULL;
  MPI_Count lower = 0, extent = 0;
  int code = core().Type_contiguous_c(0, MPI_BYTE, &empty);
  if (code == MPI_SUCCESS) code = core().Type_create_resized_c(empty, 0, 0, &marker);
  const MPI_Datatype types[] = {type, marker};
  if (code == MPI_SUCCESS) code = core().Type_create_struct_c(2, lengths, displacements, types, &joined);
  if (code == MPI_SUCCESS) code = core().Type_get_extent_c(joined, &lower, &extent);
  given = lower == lower_bound;
  for (MPI_Datatype* made : {&empty, &marker, &joined}) {
    if (*made != MPI_DATATYPE_NULL) core().Type_free(made);
  }
  return code;
}

/// Makes the type of the other members, with the bounds that the markers give.
int resize(MPI_Datatype members, const Markers& lower, const Markers& upper, MPI_Datatype* resized) {
  MPI_Count first = 0, extent = 0;
  bool given = false;
  int code = core().Type_get_extent_c(members, &first, &extent);
  if (code == MPI_SUCCESS) code = find_given_bounds(members, first, given);
  if (code != MPI_SUCCESS) return code;
  MPI_Count end = first + extent;
  if (lower.any) first = given && first < lower.lowest ? first : lower.lowest;
  if (upper.any) end = given && end > upper.highest ? end : upper.highest;
  return core().Type_create_resized_c(members, first, end - first, resized);
}

/// MPI_LB and MPI_UB, datatypes of size 0 that MPI 3.0 removed, become the bounds of a resized type: the
/// lowest MPI_LB and the highest MPI_UB, including the bounds given in other members (MPI 2.2 section 4.1.6).
///
/// Limitation: the library stores one flag per type, whether its bounds are given, for both bounds. So a
/// type with only one kind of marker has both bounds given when it is a member of another struct. Example: a
/// struct of an int and MPI_UB, at displacement 8 after a double, makes the lower bound 8; in MPI 2.2 it is
/// 0, because no MPI_LB is in the type map. With markers of both kinds the bounds are those of MPI 2.2.
template <class Number, class Create>
int create_struct(Number count, const Number* lengths, const auto* displacements, const Datatype* types,
                  Datatype* newtype, Create create) {
  const bool given = types != nullptr && lengths != nullptr && displacements != nullptr && newtype != nullptr;
  Markers lower, upper;
  bool marked = false;
  for (Number i = 0; given && i < count; ++i) {
    if (types[i] != lower_bound_type() && types[i] != upper_bound_type()) continue;
    marked = true;
    if (lengths[i] > 0) (types[i] == lower_bound_type() ? lower : upper).add(displacements[i]);
  }
  ArrayIn<type_in> types_here(types, count);
  Out<type_out> result(newtype);
  if (!marked) {
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
    if (types[i] == lower_bound_type() || types[i] == upper_bound_type()) continue;
    lengths_kept.data()[kept] = lengths[i];
    displacements_kept.data()[kept] = displacements[i];
    types_here.get()[kept++] = types_here.get()[i];
  }
  const bool bounded = lower.any || upper.any;  // otherwise all markers are in empty blocks
  MPI_Datatype members = MPI_DATATYPE_NULL;
  int code = create(kept, lengths_kept.data(), displacements_kept.data(), types_here.get(),
                    bounded ? &members : result.get());
  if (bounded && code == MPI_SUCCESS) {
    code = resize(members, lower, upper, result.get());
    core().Type_free(&members);
  }
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
