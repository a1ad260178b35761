# Run by CPack on the staged files, before they are packed: names outside of /usr/lib/hearth, and documents.
cmake_policy(VERSION 3.22)
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(hearth ${usr}/lib/hearth)
set(document ${usr}/share/doc/hearth-mpi)
file(MAKE_DIRECTORY ${usr}/bin ${usr}/share/man/man1 ${document}/licenses)
# update-alternatives makes links, but no folder for them.
file(MAKE_DIRECTORY ${usr}/include/${CPACK_HEARTH_TRIPLET} ${usr}/lib/${CPACK_HEARTH_TRIPLET})

file(CREATE_LINK ../lib/hearth/bin/hearth ${usr}/bin/hearth SYMBOLIC)
foreach(name mpiexec mpirun mpicc mpicxx)
  file(CREATE_LINK ../lib/hearth/bin/${name} ${usr}/bin/${name}.hearth SYMBOLIC)
endforeach()

# Compressed without a time, so that the same files give the same package.
foreach(name hearth mpiexec mpicc)
  set(page ${name}.hearth.1)
  if(name STREQUAL "hearth")
    set(page hearth.1)
  endif()
  file(COPY_FILE ${hearth}/share/man/man1/${name}.1 ${usr}/share/man/man1/${page})
  execute_process(COMMAND gzip -9nf ${usr}/share/man/man1/${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(alias mpirun mpicxx)
  string(REPLACE mpirun mpiexec page ${alias})
  string(REPLACE mpicxx mpicc page ${page})
  file(CREATE_LINK ${page}.hearth.1.gz ${usr}/share/man/man1/${alias}.hearth.1.gz SYMBOLIC)
endforeach()
file(REMOVE_RECURSE ${hearth}/share/man)

file(READ ${CPACK_HEARTH_SOURCE}/LICENSE licence)
string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REGEX REPLACE "\n" "\n " licence "${licence}")
file(WRITE ${document}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Hearth MPI

Files: *
Copyright: the Hearth MPI developers
License: BSD-3-clause
 ${licence}
Comment: The programs and libraries contain code of other projects. The folder licenses has their licences.
")
file(STRINGS ${CPACK_HEARTH_SOURCE}/packaging/included.txt parts REGEX "^[^#]")
foreach(part IN LISTS parts)
  string(REGEX MATCH "^([^ ]+) ([^ ]+)$" match ${part})
  if(EXISTS /usr/share/doc/${CMAKE_MATCH_2}/copyright)
    file(COPY_FILE /usr/share/doc/${CMAKE_MATCH_2}/copyright ${document}/licenses/${CMAKE_MATCH_1})
  else()
    message(WARNING "/usr/share/doc/${CMAKE_MATCH_2}/copyright is missing: add the licence of "
      "${CMAKE_MATCH_1} before publishing")
  endif()
endforeach()
file(COPY_FILE ${CPACK_HEARTH_SOURCE}/CHANGELOG.md ${document}/NEWS)
execute_process(COMMAND gzip -9nf ${document}/NEWS COMMAND_ERROR_IS_FATAL ANY)
file(TIMESTAMP ${CPACK_HEARTH_SOURCE}/CHANGELOG.md date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${document}/changelog "hearth-mpi (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * NEWS.gz says what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9nf ${document}/changelog COMMAND_ERROR_IS_FATAL ANY)
