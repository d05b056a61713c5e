#!/usr/bin/env bash
# What takes hours: random programs by the thousand, mpi4py's whole test suite, messages of gigabytes, the tests of one
# node's jobs on several nodes, cases that otherwise take the MPI libraries in turn, real programs.
# Give a seed to begin at (default: one by the date, so that every night has other programs). The logs are in
# build/nightly; status 1 when something failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seeds_per_night=2000
first=${1:-$(($(date +%s) / 86400 * seeds_per_night))}
logs=build/nightly
mkdir -p "$logs"
./dev build
export SPILLWAY_BUILD=$PWD/build

status=0
run() {
  local name=$1
  shift
  echo "==> $name: $*"
  "$@" >"$logs/$name.log" 2>&1 || { status=1 && echo "    FAILED, see $logs/$name.log"; }
}
run random_programs tests/differential/soak.py --build build --seeds "$first-$((first + seeds_per_night - 1))"
run mpi4py tests/mpi4py/run_suite.py --build build
for program in build/lib/spillway/tests/huge_counts-*; do
  run "$(basename "$program")" build/bin/spillway run -n 2 --slots 1 --memory 3G -- "$program"
done
for bed in virtual_nodes hosts; do
  run "tests_on_$bed" python3 -m pytest tests/apps tests/bindings tests/mpi tests/python_interface --bed "$bed"
done
run each_case_with_each_library python3 -m pytest tests/apps tests/faults tests/keyvalue tests/promises --all-libraries -m libraries_in_turn
run real_programs tests/real_programs/run.py
exit $status
