# Reduces the build time of `make test`, which compiles nearly everything three times on two processors, and
# the size of packages.

# hearth_unify(files_each target...): with HEARTH_UNITY, the compiler gets up to that many source files of a
# target at a time, and parses the headers that they share once. Not for layers on the path of a message,
# whose code would depend on how files are grouped. Names in anonymous namespaces must differ within a
# target. Builds without HEARTH_UNITY, such as the presets clang and debug, prove that each file includes
# what it uses.
option(HEARTH_UNITY "compile source files in groups, which halves the build time" OFF)
function(hearth_unify files_each)
  if(HEARTH_UNITY)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files_each})
  endif()
endfunction()

# hearth_build_quickly(): compiles this folder and its subfolders without optimisation. For code whose speed
# does not matter: the unit tests in every build, and all code except the library in sanitizer builds. Line
# numbers only for the reports of sanitizers; to debug a test, use the debug preset.
macro(hearth_build_quickly)
  if(HEARTH_SANITIZE)
    add_compile_options(-O0 -g1)
  else()
    add_compile_options(-O0 -g0)
  endif()
endmacro()

# hearth_build_lightly(target...): for tools and reports, whose speed does not affect the library. Little
# optimised, or for size with HEARTH_SMALL. The address sanitizer's build leaves checks of undefined behaviour
# to the ubsan preset, which saves a third of the compile time of templates. Fuzz builds have all checks and
# full optimisation.
function(hearth_build_lightly)
  if(HEARTH_FUZZ)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    if(HEARTH_SANITIZE)
      target_compile_options(${target} PRIVATE -O0)
      set_property(TARGET ${target} PROPERTY HEARTH_MEMORY_CHECKS_ONLY ON)
    elseif(HEARTH_SMALL)
      target_compile_options(${target} PRIVATE -Os -g0)
    else()
      target_compile_options(${target} PRIVATE -O1 -g0)
    endif()
  endforeach()
endfunction()

# hearth_make_small(target...): with HEARTH_SMALL, the same for the launcher, which is optimised otherwise.
function(hearth_make_small)
  if(HEARTH_SMALL)
    hearth_build_lightly(${ARGN})
  endif()
endfunction()

# hearth_make_sources_small(file...): the same for files of this folder's targets. What is inlined less gets
# warnings that the other builds do not have.
function(hearth_make_sources_small)
  if(HEARTH_SMALL)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -Os -Wno-format-truncation)
  endif()
endfunction()

# hearth_make_generated_small(stems file...): the same for generated files, except those with these stems.
function(hearth_make_generated_small stems)
  set(sources ${ARGN})
  list(FILTER sources EXCLUDE REGEX "_(${stems})[.]cpp$")
  hearth_make_sources_small(${sources})
endfunction()

# hearth_spare_sanitizers(target...): excludes targets from the sanitizer builds of `make test`. `make
# check-sanitizers` builds them too, by the target hearth_spared.
add_custom_target(hearth_spared)
function(hearth_spare_sanitizers)
  if(HEARTH_SANITIZE)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(hearth_spared ${ARGN})
  endif()
endfunction()

# hearth_precompile(target header...): for targets with many files that include the same long headers.
function(hearth_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# hearth_precompile_like(target group header...): the same for targets that are compiled with equal options.
# The first target of a group precompiles the headers, all later ones reuse the result.
function(hearth_precompile_like target group)
  get_property(owner GLOBAL PROPERTY hearth_precompiled_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY hearth_precompiled_${group} ${target})
    hearth_precompile(${target} ${ARGN})
  endif()
endfunction()

# hearth_precompile_library(folder...): precompiles headers for the library's object libraries in these
# folders and their subfolders. Only in sanitizer builds: the release build proves that each file includes all
# headers that it uses.
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
