#!/bin/sh
# `make test`, after the library has been installed: builds the tests and the sanitizer presets while it
# fetches what they need, then runs all tests of all builds as one CTest run, whose summary is printed last.
set -eu
cd "$(dirname "$0")/.."

set_up() {
  for step in foreign netpipe hpcc notebook; do
    scripts/setup.sh $step || return 1
  done
}
set_up &
set_up=$!
trap wait EXIT  # if a build fails, nothing runs on

scripts/build.sh release
scripts/build.sh asan
scripts/build.sh tsan hearth_unit_tests hearth_thread_tests
wait $set_up

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
