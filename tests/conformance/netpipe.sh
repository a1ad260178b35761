#!/bin/sh
# NetPIPE with its integrity check: tests/conformance/netpipe.sh MPICC MPIEXEC FOLDER. FOLDER holds Debian's
# source archive of NetPIPE (scripts/setup.sh netpipe fetches it). Its MPI module is built unchanged with
# Hearth's mpicc in its own folder and run on two ranks, up to 1 MiB: plain, with receives posted early, with
# synchronous sends, from any source, and unaligned.
set -eu
mpicc=$1
mpiexec=$2
folder=$3

archive=$(ls "$folder"/netpipe_*.orig.tar.* 2>/dev/null | head -1)
[ -n "$archive" ] || { echo "no source archive of NetPIPE in $folder: run scripts/setup.sh netpipe"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
tar -xf "$archive" -C "$work" --strip-components=1
cd "$work"
# The code is from 2004: its warnings are ignored.
make mpi MPICC="$mpicc" CFLAGS="-O2 -w" >make.log 2>&1 || { cat make.log; exit 1; }

for options in "" "-a" "-S" "-z" "-O 1,3"; do
  # -n: repeats per size, so that the run has a fixed amount of work instead of a fixed time.
  if ! "$mpiexec" -n 2 --timeout 60 ./NPmpi -i -n 5 -u 1048576 -o np.out $options >run.log 2>&1; then
    tail -20 run.log
    echo "netpipe: 'NPmpi -i $options' failed"
    exit 1
  fi
  passed=$(grep -c "Integrity check passed" run.log || true)
  if [ "$passed" -lt 20 ] || grep -q "Integrity check failed" run.log; then
    tail -20 run.log
    echo "netpipe: 'NPmpi -i $options': only $passed sizes passed"
    exit 1
  fi
  echo "netpipe ${options:-plain}: $passed sizes passed"
done
