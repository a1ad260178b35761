#!/bin/sh
# Configures and builds one preset of CMakePresets.json: scripts/build.sh PRESET [target...]
# Selects a recent C++ compiler if the default one is too old (see scripts/setup.sh).
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift

if [ -z "${CXX:-}" ]; then
  for version in "" -12 -13 -14; do
    major=$(g++$version -dumpversion 2>/dev/null | cut -d. -f1) || continue
    if [ "${major:-0}" -ge 12 ]; then
      export CC=gcc$version CXX=g++$version
      break
    fi
  done
fi

# Prints the output of configuring only on failure.
log=build/$preset/configure.log
mkdir -p "build/$preset"
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
if [ $# -eq 0 ]; then set -- all; fi
exec cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
