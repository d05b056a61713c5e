# Runs the unit tests (ctest) and the multi-process tests (pytest), and closes with what both counted.

# The tests as a whole; a test has its own, much shorter limit.
test_limit_s=2700
unit_test_limit_s=120

# -k NAME chooses among the unit tests as it does among pytest's.
unit_test_filter() {
  local previous=""
  for word in "$@"; do
    [[ $previous != -k ]] || { echo "$word" && return; }
    previous=$word
  done
}

run_all_tests() {
  local filter unit_status=0 system_status=0 unit_log=$step_log_folder/ctest.log system_log=$step_log_folder/pytest.log
  filter=$(unit_test_filter "$@")
  export SPILLWAY_BUILD=$PWD/build
  echo "==> Unit tests (ctest)"
  ctest --test-dir build --output-on-failure --timeout "$unit_test_limit_s" --parallel "$(jobs)" \
    ${filter:+-R "$filter"} --no-tests="$([[ -n $filter ]] && echo ignore || echo error)" </dev/null >"$unit_log" 2>&1 || unit_status=$?
  ((unit_status == 0)) || cat "$unit_log"
  echo "==> Multi-process tests (pytest)"
  timeout --kill-after=20 "$test_limit_s" "$python" -m pytest --continue-on-collection-errors \
    tests "$@" </dev/null 2>&1 | tee "$system_log" || system_status=$?
  # A filter may choose tests of one kind only; then the other kind's "nothing chosen" (5) is no failure.
  if [[ -n $filter ]] && ((system_status == 5)) && grep -q "tests passed" "$unit_log"; then
    system_status=0
  fi
  echo
  echo "ctest:  $(grep -E 'tests passed|No tests were found' "$unit_log" | tail -1)"
  echo "pytest: $(tail -1 "$system_log")"
  ((unit_status == 0 && system_status == 0)) || fail "tests failed" "logs: $unit_log and $system_log"
}
