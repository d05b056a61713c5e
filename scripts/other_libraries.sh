# More versions of the MPI libraries, from PyPI, for the tests: they have functions that the build's own have not.

source scripts/python_environment.sh

other_libraries_folder=$PWD/build/other_mpi
other_requirements=scripts/other_mpi_requirements.txt

# Makes what is missing, or was made for other requirements.
provide_other_libraries() {
  cmp -s "$other_requirements" "$other_libraries_folder/ready" ||
    step "Installing from PyPI: $(grep -v '^#' "$other_requirements" | xargs)" install_other_libraries
}

# What the user names and, once they are there, those of the tests: a list for CMake.
other_wrappers() {
  local wrappers=${SPILLWAY_OTHER_MPICC:-} requirement
  if cmp -s "$other_requirements" "$other_libraries_folder/ready"; then
    while read -r requirement; do
      wrappers+="${wrappers:+;}$(other_library_folder "$requirement")/bin/mpicc"
    done < <(grep -v '^#' "$other_requirements")
  fi
  echo "$wrappers"
}

other_library_folder() { echo "$other_libraries_folder/${1/==/-}"; }

# Each has a Python environment of its own: where pip puts what it installs into another folder depends on the Python.
install_other_libraries() {
  local requirement folder
  rm -rf "$other_libraries_folder"
  while read -r requirement; do
    folder=$(other_library_folder "$requirement")
    make_venv "$python" "$folder"
    "$folder/bin/python3" -m pip install --disable-pip-version-check --no-cache-dir --no-deps "$requirement"
  done < <(grep -v '^#' "$other_requirements")
  cp "$other_requirements" "$other_libraries_folder/ready"
}
