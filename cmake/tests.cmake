# Functions that declare tests. Each registers with CTest and sets label, time limit and the number of
# processors that the test keeps busy, so that `ctest -j` uses all processors and does not overload them.

# One CTest run covers the release build and the builds with sanitizers (scripts/test.sh); the prefix
# distinguishes their tests.
set(test_prefix "")
if(HEARTH_SANITIZE STREQUAL "thread")
  set(test_prefix "tsan.")
elseif(HEARTH_SANITIZE MATCHES "address")
  set(test_prefix "asan.")
elseif(HEARTH_SANITIZE)
  set(test_prefix "ubsan.")
endif()

# Environment of tests over libfabric under the address sanitizer. The provider `net` of libfabric 1.17 never
# frees the description of a connection, which is not Hearth's leak, so `tcp` replaces it. That one allocates
# pools of 16 KiB buffers for each address; smaller buffers avoid that their poisoning takes most of the time.
set(fabric_environment "")
if(HEARTH_SANITIZE MATCHES "address")
  set(fabric_environment "HEARTH_FABRIC_PROVIDER=tcp;FI_OFI_RXM_BUFFER_SIZE=2048")
endif()

# hearth_unit_test(name source... LIBS library... [THREADS])
#   One GoogleTest executable. LIBS lists every object library whose code it uses: object libraries do not
#   link their dependencies. THREADS: it has several threads; in `make test` the thread sanitizer runs only
#   such tests.
function(hearth_unit_test name)
  hearth_gtest(${name} unit ${ARGN})
endfunction()

# hearth_contract_test(name source... LIBS library...): the same for tests/contract, with THREADS.
function(hearth_contract_test name)
  hearth_gtest(${name} contract THREADS ${ARGN})
  set_tests_properties(${test_prefix}${name} PROPERTIES ENVIRONMENT "${fabric_environment}")
endfunction()

function(hearth_gtest name label)
  cmake_parse_arguments(ARG "THREADS" "TIMEOUT" "LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(CMAKE_CROSSCOMPILING)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")  # an emulator is slow
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hearth_flags ${ARG_LIBS} GTest::gtest_main Threads::Threads)
  target_compile_options(${name} PRIVATE -Wno-dangling-else)  # an EXPECT_ behind an if is one
  # All tests below one folder are compiled with the same options.
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX MATCH "^[a-z]+" group ${folder})
  hearth_precompile_like(${name} ${group} <gtest/gtest.h> <algorithm> <functional> <map> <thread>)
  add_dependencies(${name} hearth_generated)
  set(labels ${label})
  if(ARG_THREADS OR NOT HEARTH_SANITIZE STREQUAL "thread")
    add_dependencies(hearth_unit_tests ${name})
  else()
    list(APPEND labels more)
  endif()
  add_test(NAME ${test_prefix}${name} COMMAND ${name})
  set_tests_properties(${test_prefix}${name} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# hearth_multi_program(target source): a C or C++ program built against the build tree's mpi.h and library.
function(hearth_multi_program target source)
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE hearth_flags mpi_abi Threads::Threads m)
  add_dependencies(${target} hearth_generated)
endfunction()

# One or two programs for each part of the library; `make quick` runs them with up to three ranks.
set(quick_programs ring pt2pt_random pt2pt_probe pt2pt_persistent requests_partitioned coll_move coll_reduce
  coll_edge_cases_nonblocking rma_transfer rma_lock objects_comms datatype_edge_cases sessions)

# hearth_multi_test(NAME name SOURCE source | PROGRAM name RANKS n... [TIMEOUT seconds]
#                   [ENV NAME=VALUE...] [ARGS word...] [OPTIONS mpiexec-option...] [LABELS label...]
#                   [MEASURES] [THREADS] [OWN] [FAULT])
#   One test per number of ranks: mpiexec -n N program. Success is exit code 0. Without SOURCE, PROGRAM names
#   the earlier test whose program is run again. MEASURES: the program measures its memory or time, which a
#   sanitizer changes. THREADS: the program has several threads. The thread sanitizer checks the threads of
#   one process and no accesses of other processes, so in `make test` it runs only these programs. OWN: the
#   program tests behaviour of Hearth that the standard leaves open, so no other library can run it
#   (tests/conformance/peers.py runs all other programs on other libraries). FAULT: the same, and ranks may
#   die.
function(hearth_multi_test)
  cmake_parse_arguments(ARG "MEASURES;THREADS;OWN;FAULT" "NAME;SOURCE;PROGRAM;TIMEOUT"
    "RANKS;ENV;ARGS;OPTIONS;LABELS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_NAME OR NOT ARG_RANKS)
    message(FATAL_ERROR "hearth_multi_test: needs NAME and RANKS; '${ARG_UNPARSED_ARGUMENTS}' is unknown")
  endif()
  if(ARG_MEASURES AND HEARTH_SANITIZE)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  # Sanitizers make a program several times slower, and find nothing new with more ranks.
  if(HEARTH_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
    list(FILTER ARG_RANKS INCLUDE REGEX "^[1-4]$")
  endif()
  if(ARG_SOURCE)
    set(program multi_${ARG_NAME})
    hearth_multi_program(${program} ${ARG_SOURCE})
  else()
    set(program multi_${ARG_PROGRAM})
  endif()
  set(labels multi ${ARG_LABELS})
  if(ARG_THREADS)
    add_dependencies(hearth_thread_tests ${program} mpiexec)
  elseif(HEARTH_SANITIZE STREQUAL "thread")
    list(APPEND labels more)
  endif()
  # Programs that other libraries can run, without parameters and options of Hearth; and programs in which
  # ranks die.
  set(table "")
  if(ARG_FAULT)
    set(table hearth_fault_table)
  elseif(NOT (ARG_ENV OR ARG_OPTIONS OR ARG_MEASURES OR ARG_OWN) AND NOT "large" IN_LIST ARG_LABELS)
    set(table hearth_multi_table)
  endif()
  if(table)
    get_target_property(source ${program} SOURCES)
    get_target_property(folder ${program} SOURCE_DIR)
    string(JOIN "," counts ${ARG_RANKS})
    string(JOIN " " words ${ARG_ARGS})
    set(row "${ARG_NAME}|$<TARGET_FILE:${program}>|${folder}/${source}|${counts}|${ARG_TIMEOUT}|${words}")
    if(ARG_FAULT)
      string(JOIN " " variables ${ARG_ENV})
      string(APPEND row "|${variables}")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY ${table} "${row}\n")
  endif()
  # CTest's limit is later than mpiexec's, which reports what each rank waits for.
  math(EXPR limit_s "${ARG_TIMEOUT} + 20")
  set(is_quick OFF)
  if(ARG_NAME IN_LIST quick_programs)
    set(is_quick ON)
    add_dependencies(hearth_quick_tests ${program} mpiexec)
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    set(test ${test_prefix}multi.${ARG_NAME}.${ranks})
    add_test(NAME ${test}
      COMMAND mpiexec -n ${ranks} --oversubscribe --timeout ${ARG_TIMEOUT} ${ARG_OPTIONS}
              $<TARGET_FILE:${program}> ${ARG_ARGS})
    set_tests_properties(${test} PROPERTIES
      LABELS "${labels}" TIMEOUT ${limit_s} PROCESSORS ${ranks})
    if(is_quick AND ranks LESS_EQUAL 3)
      set_property(TEST ${test} APPEND PROPERTY LABELS quick)
    endif()
    # A test that forces a protocol expects buffers in ordinary memory.
    if(ARG_ENV MATCHES "HEARTH_P2P_" AND NOT ARG_ENV MATCHES "HEARTH_SHARE_HEAP")
      list(APPEND ARG_ENV HEARTH_SHARE_HEAP=0)
    endif()
    if(ARG_ENV)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "${ARG_ENV}")
    endif()
  endforeach()
endfunction()
