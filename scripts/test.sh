#!/bin/sh
# Everything that `make test` runs, after the library is installed: builds the tests and the sanitizer
# presets, then runs all tests of all builds as one CTest run, whose summary is the last thing printed.
set -eu
cd "$(dirname "$0")/.."

scripts/build.sh release
scripts/build.sh asan
scripts/build.sh tsan hearth_unit_tests hearth_thread_tests

# One page for CTest that leads to the three builds.
cat >build/CTestTestfile.cmake <<'END'
subdirs(release asan tsan)
END

exec ctest --test-dir build --parallel "$(nproc)" --output-on-failure --label-exclude "soak|more" \
  --no-label-summary
