#!/bin/sh
# `make test`, after the library has been installed: builds the tests and the sanitizer presets, then runs all
# tests of all builds as one CTest run, whose summary is printed last.
set -eu
cd "$(dirname "$0")/.."

scripts/build.sh release
scripts/build.sh asan
scripts/build.sh tsan hearth_unit_tests hearth_thread_tests

# One file for CTest that includes the three builds.
cat >build/CTestTestfile.cmake <<'END'
subdirs(release asan tsan)
END

exec ctest --test-dir build --parallel "$(nproc)" --output-on-failure --label-exclude "soak|more" \
  --no-label-summary
