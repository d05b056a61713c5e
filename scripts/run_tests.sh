# Runs the unit tests (ctest) and the multi-process tests (pytest), and closes with what both counted.

# The multi-process tests as a whole; a test has its own, much shorter limit.
test_limit_s=2700
unit_test_limit_s=120

# Multi-process tests that say what comes out, not within which time: some more at a time than there are cores, as many
# of them wait. Then two at a time those whose jobs mostly wait, and end within seconds. The others run after them, one
# by one.
timeless_tests=(
  tests/apps tests/bindings tests/demo/test_benchmarks.py tests/demo/test_broadcast_simulation.py
  tests/demo/test_sort_simulation.py tests/demo/test_package_graph.py tests/differential
  tests/faults/test_failing_ranks.py tests/faults/test_refused_jobs.py tests/keyvalue tests/launcher tests/mpi
  tests/mpi_table tests/pgas tests/promises tests/python_interface tests/sort tests/test_tree.py
)
waiting_tests=(tests/faults tests/nodes)  # nodes make networks of hosts
lone_tests=(tests/keyvalue/test_long_keys.py)  # of those folders, but one by one: they need most of a machine

# -k NAME chooses among the unit tests as it does among pytest's.
unit_test_filter() {
  local previous=""
  for word in "$@"; do
    [[ $previous != -k ]] || { echo "$word" && return; }
    previous=$word
  done
}

# run_pytest LOG WORDS...: within what is left of the limit. A -k may choose none of these tests (5): no failure as long
# as it chooses others.
run_pytest() {
  local log=$1 status=0
  shift
  timeout --kill-after=20 "$((test_limit_s - SECONDS + tests_begin_s))" "$python" -m pytest \
    --continue-on-collection-errors "$@" </dev/null 2>&1 | tee "$log" || status=$?
  ((status == 5)) || chosen=yes
  ((status == 5 || status == 0)) || system_status=$status
}

run_all_tests() {
  local filter unit_status=0 system_status=0 chosen="" tests_begin_s=$SECONDS
  local unit_log=$step_log_folder/ctest.log timeless_log=$step_log_folder/pytest.log
  local waiting_log=$step_log_folder/pytest_two_at_a_time.log log=$step_log_folder/pytest_one_by_one.log
  filter=$(unit_test_filter "$@")
  export SPILLWAY_BUILD=$PWD/build
  export SPILLWAY_STANDSTILL_FILE=/dev/shm/standstills-of-tests-$$
  "$python" tests/standstill.py "$SPILLWAY_STANDSTILL_FILE" >"$step_log_folder/standstills.log" &
  local standstill_watch=$!
  echo "==> Unit tests (ctest)"
  ctest --test-dir build --output-on-failure --timeout "$unit_test_limit_s" --parallel "$(jobs)" \
    ${filter:+-R "$filter"} --no-tests="$([[ -n $filter ]] && echo ignore || echo error)" </dev/null >"$unit_log" 2>&1 || unit_status=$?
  ((unit_status == 0)) || cat "$unit_log"
  local workers=$((($(jobs) * 3 + 1) / 2)) others=("${timeless_tests[@]/#/--ignore=}")
  echo "==> Multi-process tests (pytest), $workers at a time"
  run_pytest "$timeless_log" --numprocesses "$workers" "${timeless_tests[@]}" "${lone_tests[@]/#/--ignore=}" "$@"
  echo "==> Multi-process tests (pytest), two at a time"
  run_pytest "$waiting_log" --numprocesses 2 --own-network "${waiting_tests[@]}" "${others[@]}" "$@"
  echo "==> Multi-process tests (pytest), one by one"
  run_pytest "$log" tests "${lone_tests[@]}" "${others[@]}" "${waiting_tests[@]/#/--ignore=}" "$@"
  grep -q "tests passed" "$unit_log" && chosen=yes
  [[ -n $chosen ]] || system_status=5
  kill "$standstill_watch" || echo "the watch over the processors has ended before"
  wait "$standstill_watch" || true
  echo
  cat "$step_log_folder/standstills.log"
  echo "ctest:  $(grep -E 'tests passed|No tests were found' "$unit_log" | tail -1)"
  echo "pytest: $(tail -1 "$timeless_log")"
  echo "        $(tail -1 "$waiting_log")"
  echo "        $(tail -1 "$log")"
  ((unit_status == 0 && system_status == 0)) || fail "tests failed" "logs: $unit_log, $timeless_log, $waiting_log and $log"
}
