set(api ${PROJECT_SOURCE_DIR}/api)
add_test(NAME api.generator COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/generator_test.py)
add_test(NAME api.coverage_page
  COMMAND ${Python3_EXECUTABLE} -B ${api}/generate.py --check
    --coverage ${PROJECT_SOURCE_DIR}/docs/coverage.md
    --beyond ${PROJECT_SOURCE_DIR}/docs/beyond_the_standard.md)
add_test(NAME api.header
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/abi_header.py ${PROJECT_BINARY_DIR}/generated
    ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER})
add_test(NAME api.beyond_the_header
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/beyond_header.py
    ${PROJECT_BINARY_DIR}/generated ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER})
set_tests_properties(api.generator api.coverage_page api.header api.beyond_the_header PROPERTIES
  LABELS conformance TIMEOUT 120)
if(TARGET mpi_abi)
  add_test(NAME api.symbols
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/abi_symbols.py $<TARGET_FILE:mpi_abi>)
  set_tests_properties(api.symbols PROPERTIES LABELS conformance TIMEOUT 60)
endif()
if(TARGET mpifort_abi)
  add_test(NAME api.fortran_symbols
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/fortran_symbols.py
      $<TARGET_FILE:mpifort_abi>)
  set_tests_properties(api.fortran_symbols PROPERTIES LABELS conformance TIMEOUT 60)
endif()
# The versions of glibc symbols that the installed binaries need.
set(binaries)
foreach(target mpi_abi mpifort_abi mpifort_mpich mpi_mpich mpi_openmpi hearth_check hearth_heap mpiexec
    hearth)
  if(TARGET ${target})
    list(APPEND binaries $<TARGET_FILE:${target}>)
  endif()
endforeach()
add_test(NAME glibc_symbols
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/glibc_symbols.py ${binaries})
set_tests_properties(glibc_symbols PROPERTIES LABELS conformance TIMEOUT 60)
