# Chooses where the build's tools come from, and installs what is missing: from the system's packages where that is
# allowed, else into a private environment (scripts/private_environment.sh).
#
# After set_up: `python` is the interpreter to use, `cmake_settings` what cmake is told beyond its preset, and
# `environment` names the place, so that a folder configured with another one is noticed.

environment_folder=$PWD/build/env
python=/usr/bin/python3
# So that no MPI library, and its half of the tests, is lost unnoticed.
cmake_settings=("-DSPILLWAY_REQUIRED_MPI=mpich;openmpi")
environment=system

# What the build, the tests and the demo need. Both MPI libraries: one preloaded library is built for each.
system_packages=(
  g++ gfortran cmake ninja-build python3
  libmpich-dev mpich libopenmpi-dev openmpi-bin
  libxxhash-dev zlib1g-dev libzstd-dev libgtest-dev googletest python3-pytest python3-numpy iproute2
)

# What the tests need beyond that: to run several at a time, and some benchmarks' programs are built only with SimGrid.
test_packages=(libsimgrid-dev python3-pytest-xdist)

missing_packages() {
  local package
  for package in "${system_packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# Prints the prefix that makes a command run as root; fails when there is no way to become root.
root_prefix() {
  if ((EUID == 0)); then
    echo ""
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [[ -t 0 && -z ${CI:-} ]] && sudo -v; }; }; then
    echo "sudo"
  else
    return 1
  fi
}

# The package index may be absent (container images come without) or name versions that the mirror has replaced
# since; both end well after an update, which is not done when it is not needed.
install_packages() {
  local -a prefix=()
  [[ -z $1 ]] || prefix=("$1")
  shift
  local -a install=("${prefix[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends)
  "${install[@]}" "$@" || { "${prefix[@]}" apt-get update && "${install[@]}" "$@"; }
}

set_up() {
  local prefix
  local -a missing=()
  if [[ ${SPILLWAY_ROOTLESS:-0} != 1 ]] && command -v dpkg-query apt-get >/dev/null; then
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]} > 0)) || return 0
    if prefix=$(root_prefix); then
      step "Installing packages: ${missing[*]}" install_packages "$prefix" "${missing[@]}"
      return 0
    fi
  fi
  source scripts/private_environment.sh
  set_up_private_environment
  environment="private $(recipe)"
}

# A folder that was configured with another environment's compiler and MPI cannot be configured again with this one's.
forget_other_environment() {
  local folder=$1 mark=$1/environment.txt
  mkdir -p "$folder"
  [[ $(cat "$mark" 2>/dev/null) == "$environment" ]] || rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
  echo "$environment" >"$mark"
  if command -v ccache >/dev/null; then
    cmake_settings+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake_settings+=("-DPython3_EXECUTABLE=$python")
}

# The demonstration reads the machine's package index; where there is none (as in container images), the private
# copy of it serves, through the variable that apt's tools read.
provide_package_index() {
  if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
    source scripts/private_packages.sh
    update_private_index
    export APT_CONFIG=$private_apt_configuration
  fi
}
