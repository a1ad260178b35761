/* Removed functions. MPI 5.0 chapter 17 names the functions that replace them. MPI_LB and MPI_UB are missing:
   they were datatypes, and the ABI has no values for them (use MPI_Type_create_resized). */
typedef MPI_Comm_errhandler_function MPI_Handler_function;
#ifndef MPI_Address
HEARTH_MPI_REMOVED("use MPI_Get_address")
int MPI_Address(const void *location, MPI_Aint *address) {
  return MPI_Get_address(location, address);
}
#endif
#ifndef MPI_Type_hvector
HEARTH_MPI_REMOVED("use MPI_Type_create_hvector")
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                     MPI_Datatype *newtype) {
  return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}
#endif
#ifndef MPI_Type_hindexed
HEARTH_MPI_REMOVED("use MPI_Type_create_hindexed")
int MPI_Type_hindexed(int count, const int blocklengths[], const MPI_Aint displacements[],
                      MPI_Datatype oldtype, MPI_Datatype *newtype) {
  return MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}
#endif
#ifndef MPI_Type_struct
HEARTH_MPI_REMOVED("use MPI_Type_create_struct")
int MPI_Type_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                    const MPI_Datatype types[], MPI_Datatype *newtype) {
  return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}
#endif
#ifndef MPI_Type_extent
HEARTH_MPI_REMOVED("use MPI_Type_get_extent")
int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent) {
  MPI_Aint lb;
  return MPI_Type_get_extent(datatype, &lb, extent);
}
#endif
#ifndef MPI_Type_lb
HEARTH_MPI_REMOVED("use MPI_Type_get_extent")
int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *lb) {
  MPI_Aint extent;
  return MPI_Type_get_extent(datatype, lb, &extent);
}
#endif
#ifndef MPI_Type_ub
HEARTH_MPI_REMOVED("use MPI_Type_get_extent")
int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *ub) {
  MPI_Aint lb, extent;
  const int code = MPI_Type_get_extent(datatype, &lb, &extent);
  if (code == MPI_SUCCESS) *ub = lb + extent;
  return code;
}
#endif
#ifndef MPI_Errhandler_create
HEARTH_MPI_REMOVED("use MPI_Comm_create_errhandler")
int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *errhandler) {
  return MPI_Comm_create_errhandler(function, errhandler);
}
#endif
#ifndef MPI_Errhandler_set
HEARTH_MPI_REMOVED("use MPI_Comm_set_errhandler")
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return MPI_Comm_set_errhandler(comm, errhandler);
}
#endif
#ifndef MPI_Errhandler_get
HEARTH_MPI_REMOVED("use MPI_Comm_get_errhandler")
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler) {
  return MPI_Comm_get_errhandler(comm, errhandler);
}
#endif
