# Toolchain file of the presets `wheel` and `wheel-aarch64`: programs and libraries that run with glibc 2.28
# (RHEL 8) and later, by a newer system's compiler. `scripts/setup.sh wheel` makes its symbols.
if(NOT DEFINED HEARTH_WHEEL_MACHINE)
  set(HEARTH_WHEEL_MACHINE ${CMAKE_HOST_SYSTEM_PROCESSOR})
endif()
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
# The compiler checks read this file too.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEARTH_WHEEL_MACHINE)
if(NOT HEARTH_WHEEL_MACHINE STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  include(${CMAKE_CURRENT_LIST_DIR}/${HEARTH_WHEEL_MACHINE}.cmake)
  # What the build of hwloc found out about that machine.
  set(hwloc ${root}/.cache/hwloc-${HEARTH_WHEEL_MACHINE}/include)
  string(APPEND CMAKE_C_FLAGS_INIT " -idirafter ${hwloc}")
  string(APPEND CMAKE_CXX_FLAGS_INIT " -idirafter ${hwloc}")
endif()
set(HEARTH_OLDEST_GLIBC 2.28)
set(stubs ${root}/.cache/wheel/glibc-${HEARTH_WHEEL_MACHINE})
if(NOT EXISTS ${stubs}/libc.so)
  message(FATAL_ERROR "${stubs} is missing: glibc's symbols, which the wheel is linked against. Remedy: "
    "scripts/setup.sh wheel")
endif()

# libc.so names the archive, since it has to follow the C++ library on every command line.
set(compiler $ENV{CC})
if(CMAKE_C_COMPILER)
  set(compiler ${CMAKE_C_COMPILER})
elseif(NOT compiler)
  set(compiler gcc)
endif()
set(source ${root}/src/base/os_newer_glibc.c)
set(archive ${stubs}/libnewer_glibc.a)
if(NOT EXISTS ${archive} OR ${source} IS_NEWER_THAN ${archive})
  execute_process(COMMAND ${compiler} -D_GNU_SOURCE -std=c11 -O2 -fPIC -ffunction-sections -Wall -Wextra
    -Werror -c ${source} -o ${stubs}/newer_glibc.o COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ar rcs ${archive} ${stubs}/newer_glibc.o COMMAND_ERROR_IS_FATAL ANY)
endif()
# -B: where the compiler looks for start files and libraries; -rpath-link: where the linker looks for
# libraries that a library needs.
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-B${stubs} -Wl,-rpath-link,${stubs}")
endforeach()
