#!/bin/sh
# `make test`, after the library has been installed: builds the tests and the sanitizer presets, then runs all
# tests of all builds as one CTest run, whose summary is printed last.
set -eu
cd "$(dirname "$0")/.."

scripts/build.sh release
scripts/build.sh asan
scripts/build.sh tsan hearth_unit_tests hearth_thread_tests

# One file for CTest that includes the three builds. In a clean clone CTest has no times of an earlier run:
# the longest tests that need one processor start first, so that none of them runs alone at the end.
cat >build/CTestTestfile.cmake <<'END'
subdirs(release asan tsan)
set_tests_properties(chaos.soak_short PROPERTIES COST 120)
set_tests_properties(launch.why tsan.unit_coll launch.surroundings notebook tsan.contract_schedule.few
  unit_hearth_tool tsan.unit_heap hosts PROPERTIES COST 50)
END

exec ctest --test-dir build --parallel "$(nproc)" --output-on-failure --label-exclude "soak|more" \
  --no-label-summary
