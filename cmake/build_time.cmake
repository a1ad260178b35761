# What keeps `make test` short: it compiles nearly everything three times on two processors.

# hearth_build_quickly(): what this folder and those below it hold is compiled without optimisation. For code
# whose own speed shows nothing: the unit tests in every build, what is not the library in sanitizer builds.
# Lines of source only where a sanitizer names them: to debug a test there is the debug preset.
macro(hearth_build_quickly)
  if(HEARTH_SANITIZE)
    add_compile_options(-O0 -g1)
  else()
    add_compile_options(-O0 -g0)
  endif()
endmacro()

# hearth_build_lightly(target...): what is neither the library nor in its way: tools and reports. Little
# optimised; the build for the address sanitizer leaves undefined behaviour in it to the ubsan preset, which
# saves a third of the time that templates take. Fuzz targets look at all of it, as fast as they can.
function(hearth_build_lightly)
  if(HEARTH_FUZZ)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    if(HEARTH_SANITIZE)
      target_compile_options(${target} PRIVATE -O0)
      set_property(TARGET ${target} PROPERTY HEARTH_MEMORY_CHECKS_ONLY ON)
    else()
      target_compile_options(${target} PRIVATE -O1 -g0)
    endif()
  endforeach()
endfunction()

# hearth_spare_sanitizers(target...): not among what a sanitizer build makes for `make test`; `make
# check-sanitizers` makes it as well, by the target hearth_spared.
add_custom_target(hearth_spared)
function(hearth_spare_sanitizers)
  if(HEARTH_SANITIZE)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(hearth_spared ${ARGN})
  endif()
endfunction()

# hearth_precompile(target header...): for targets of many files that all include the same long headers.
function(hearth_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# hearth_precompile_like(target group header...): the same for targets that are compiled with equal options:
# the first target of a group has the headers precompiled, the others use its.
function(hearth_precompile_like target group)
  get_property(owner GLOBAL PROPERTY hearth_precompiled_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY hearth_precompiled_${group} ${target})
    hearth_precompile(${target} ${ARGN})
  endif()
endfunction()

# hearth_precompile_library(folder...): the object libraries of these folders and of those in them, which are
# the library itself, in the builds that GCC makes with sanitizers: the release build proves that each file
# includes what it uses.
function(hearth_precompile_library)
  if(NOT HEARTH_SANITIZE OR HEARTH_FUZZ)
    return()
  endif()
  foreach(folder IN LISTS ARGN)
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "OBJECT_LIBRARY")
        get_target_property(options ${target} COMPILE_OPTIONS)
        get_target_property(lightly ${target} HEARTH_MEMORY_CHECKS_ONLY)
        string(MAKE_C_IDENTIFIER "library_${options}_${lightly}" group)
        hearth_precompile_like(${target} ${group} <algorithm> <functional> <map> <memory> <string> <vector>)
      endif()
    endforeach()
    get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    hearth_precompile_library(${folders})
  endforeach()
endfunction()
