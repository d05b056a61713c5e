# Steps of a script: one line each, their output in a log that is shown only when the step fails.

step_log_folder=build/log

# fail MESSAGE [REMEDY]: ends the script.
fail() {
  echo "dev: $1" >&2
  [[ $# -lt 2 ]] || echo "     $2" >&2
  exit 1
}

# step DESCRIPTION COMMAND...: prints the description and the seconds that the command took. Ends the script when the
# command fails, or, for a function, when any command in it does: hence the subshell, since `f || ...` would let f go on.
step() {
  local description=$1 log status begin=$SECONDS
  shift
  mkdir -p "$step_log_folder"
  log=$step_log_folder/$(tr -cs 'a-zA-Z0-9\n' '_' <<<"${description,,}" | cut -c1-60 | sed 's/_*$//').log
  printf '==> %s ... ' "$description"
  set +e
  (set -e && "$@") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  if ((status == 0)); then
    echo "done ($((SECONDS - begin)) s)"
    return 0
  fi
  echo "FAILED"
  echo "--- last lines of $log"
  tail -n 40 "$log"
  echo "---"
  fail "'$description' failed with status $status" "the whole log is in $log"
}
