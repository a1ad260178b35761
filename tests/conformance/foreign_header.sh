#!/bin/sh
# Programs compiled with another library's standard-ABI header and wrapper run on Hearth unchanged:
# tests/conformance/foreign_header.sh FOREIGN_MPICC MPIEXEC LIBRARY_FOLDER SOURCE...
set -eu
mpicc=$1
mpiexec=$2
library=$3
shift 3

[ -x "$mpicc" ] || { echo "no $mpicc: run scripts/setup.sh foreign"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export LD_LIBRARY_PATH="$library"

for source in "$@"; do
  name=$(basename "$source" .c)
  "$mpicc" -O1 -o "$work/$name" "$source" -lm
  # The wrapper stores a path to its own library in the program; Hearth's must take precedence.
  loaded=$(ldd "$work/$name" | sed -n 's/.*libmpi_abi\.so\.1 => \([^ ]*\).*/\1/p')
  if [ "$(readlink -f "$loaded")" != "$(readlink -f "$library/libmpi_abi.so.1")" ]; then
    echo "$name would load '$loaded', not the library in $library"
    exit 1
  fi
  for ranks in 1 2 3 4; do
    "$mpiexec" -n $ranks --oversubscribe --timeout 60 "$work/$name" ||
      { echo "$name failed at $ranks ranks"; exit 1; }
  done
  echo "$name, compiled with $mpicc, runs at 1 to 4 ranks"
done
