# `make deb`: CPack's description of the Debian package hearth-mpi. Everything lies in /usr/lib/hearth, which
# is an ordinary installation; the names in /usr/bin and /usr/include belong to update-alternatives, as with
# Debian's packages of other MPI libraries (debian/postinst.in, debian/prerm.in). debian/layout.cmake adds the
# names outside of that folder.
find_program(HEARTH_DPKG dpkg-deb)
if(NOT HEARTH_DPKG OR NOT HEARTH_LAUNCHER OR HEARTH_SANITIZE)
  return()
endif()

# The oldest glibc that the binaries run with: that of this system, if they are not linked against an older
# one's symbols (oldest_glibc.cmake).
if(NOT HEARTH_OLDEST_GLIBC)
  execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE HEARTH_OLDEST_GLIBC
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "glibc " "" HEARTH_OLDEST_GLIBC "${HEARTH_OLDEST_GLIBC}")
endif()
set(architecture_x86_64 amd64)
set(architecture_aarch64 arm64)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hearth-mpi)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Hearth MPI developers <hearth-mpi@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr/lib/hearth)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/layout.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${architecture_${CMAKE_SYSTEM_PROCESSOR}})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${HEARTH_OLDEST_GLIBC})")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc | c-compiler, libc6-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libfabric1, g++")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "MPI 5.0 library with the standard ABI, optimised for a single node")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Launcher, libraries, header, compiler wrappers and the tool hearth of
Hearth MPI. The commands mpiexec, mpirun and mpicc are alternatives of
those of Open MPI and MPICH.")
set(HEARTH_TRIPLET ${CMAKE_LIBRARY_ARCHITECTURE})
set(CPACK_HEARTH_TRIPLET ${HEARTH_TRIPLET})
foreach(script postinst prerm)  # debian/postinst.in, debian/prerm.in
  configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/${script}.in ${PROJECT_BINARY_DIR}/debian/${script} @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/${script})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_HEARTH_SOURCE ${PROJECT_SOURCE_DIR})
include(CPack)
