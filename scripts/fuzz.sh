#!/bin/sh
# Fuzzing with libFuzzer: scripts/fuzz.sh [target...], each for FUZZ_SECONDS (60). A target is a file of
# tests/fuzz. Starts from the inputs in tests/fuzz/corpus and from those that earlier runs have found
# (build/fuzz/corpus). Inputs that break a target are stored in build/fuzz/found: fix the cause and keep them
# as tests.
set -eu
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}

scripts/build.sh fuzz hearth_fuzz
if [ $# -eq 0 ]; then
  for file in build/fuzz/tests/fuzz/fuzz_*; do set -- "$@" "${file##*/fuzz_}"; done
fi

status=0
for target in "$@"; do
  mkdir -p "build/fuzz/corpus/$target" build/fuzz/found
  log=build/fuzz/$target.log
  if build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -max_len=2048 -timeout=20 \
    -rss_limit_mb=3000 -artifact_prefix="build/fuzz/found/$target-" \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    printf '%-16s %s\n' "$target" "$(grep -a '^Done' "$log")"
  else
    status=1
    printf '%-16s FAILED; its input is in build/fuzz/found:\n' "$target"
    grep -aE 'ERROR|runtime error|^fuzz:|SUMMARY' "$log" || tail -n 20 "$log"
  fi
done
exit $status
