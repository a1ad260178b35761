# Parts of Hearth that a build may leave out: mpiexec's checks, profiles and deadlock analysis, and the
# experiments of papers. Each part has its files in folders of its own and a null implementation in a folder
# left_out; callers include the same headers. A command of a part that was left out ends with an error that
# names the option (src/base/left_out.h). The preset `minimal` leaves all parts out.
option(HEARTH_WITH_CHECK "build mpiexec --check and its library" ON)
option(HEARTH_WITH_PROFILE "build mpiexec --profile and --trace, and hearth profile" ON)
option(HEARTH_WITH_WHY "build mpiexec --why, hearth why and hearth top" ON)
option(HEARTH_WITH_PAPER "build hearth bench paper" ON)

# All parts are built: for tests that use them together.
set(HEARTH_WITH_ALL OFF)
if(HEARTH_WITH_CHECK AND HEARTH_WITH_PROFILE AND HEARTH_WITH_WHY AND HEARTH_WITH_PAPER)
  set(HEARTH_WITH_ALL ON)
endif()

# hearth_part(target option SOURCES source... LEFT_OUT source... [LIBS library...]
#             [DEFINITIONS name=value...])
#   Object library `target`: the sources if the option is on, else the null implementation. `target`_left_out
#   is the null implementation in every build, so that tests/minimal can link it.
function(hearth_part target option)
  cmake_parse_arguments(ARG "" "" "SOURCES;LEFT_OUT;LIBS;DEFINITIONS" ${ARGN})
  add_library(${target}_left_out OBJECT EXCLUDE_FROM_ALL ${ARG_LEFT_OUT})
  if(${option})
    add_library(${target} OBJECT ${ARG_SOURCES})
  else()
    add_library(${target} OBJECT ${ARG_LEFT_OUT})
  endif()
  foreach(library ${target} ${target}_left_out)
    target_link_libraries(${library} PUBLIC hearth_flags ${ARG_LIBS})
    target_compile_definitions(${library} PRIVATE ${ARG_DEFINITIONS})
    add_dependencies(${library} hearth_generated)
  endforeach()
endfunction()
