# More versions of the MPI libraries, from PyPI, for the tests: they have functions that the build's own have not.

source scripts/python_environment.sh

other_libraries_folder=$PWD/build/other_mpi

# Adds what builds for them to `cmake_settings`. Makes what is missing, or was made for other requirements.
provide_other_libraries() {
  local requirements=scripts/other_mpi_requirements.txt ready=$other_libraries_folder/ready wrappers="" requirement
  if ! cmp -s "$requirements" "$ready"; then
    step "Installing from PyPI: $(grep -v '^#' "$requirements" | xargs)" install_other_libraries
    cp "$requirements" "$ready"
  fi
  while read -r requirement; do
    wrappers+="${wrappers:+;}$(other_library_folder "$requirement")/bin/mpicc"
  done < <(grep -v '^#' "$requirements")
  cmake_settings+=("-DSPILLWAY_OTHER_MPICC=$wrappers")
}

other_library_folder() { echo "$other_libraries_folder/${1/==/-}"; }

install_other_libraries() {
  local requirement
  rm -rf "$other_libraries_folder"
  make_venv "$python" "$other_libraries_folder/pip"
  while read -r requirement; do
    "$other_libraries_folder/pip/bin/python3" -m pip install --disable-pip-version-check --no-cache-dir --no-deps \
      --prefix "$(other_library_folder "$requirement")" "$requirement"
  done < <(grep -v '^#' scripts/other_mpi_requirements.txt)
}
