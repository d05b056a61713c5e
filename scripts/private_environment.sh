# The private environment of a machine on which packages may not be installed: a Python environment in build/env with
# PyPI's MPICH, build tools and test tools. A compiler, Python, GoogleTest, xxHash, zlib or zstd that the machine lacks come
# from its distribution's packages, unpacked into build/env/root.

source scripts/private_packages.sh
source scripts/python_environment.sh

# Changes when the recipe does, and then the environment is made anew.
recipe() { cat scripts/private_* scripts/python_environment.sh | sha256sum; }

set_up_private_environment() {
  local ready=$environment_folder/ready
  if [[ $(cat "$ready" 2>/dev/null) != "$(recipe)" ]]; then
    echo "==> Packages cannot be installed here without root: making a private environment in build/env"
    rm -rf "$environment_folder"
    mkdir -p "$environment_folder/bin"
    unpack_missing_packages
    install_python_packages
    recipe >"$ready"
  fi
  use_private_environment
}

use_private_environment() {
  export PATH=$environment_folder/bin:$PATH
  python=$environment_folder/bin/python3
  cmake_settings=(-DSPILLWAY_REQUIRED_MPI=mpich "-DSPILLWAY_MPICC_mpich=$environment_folder/bin/mpicc")
  cmake_settings+=(-DSPILLWAY_FORTRAN_TESTS=OFF) # PyPI's MPICH has no Fortran
  if [[ -x $environment_folder/bin/g++ ]]; then
    cmake_settings+=("-DCMAKE_CXX_COMPILER=$environment_folder/bin/g++" "-DCMAKE_C_COMPILER=$environment_folder/bin/gcc")
    cmake_settings+=(-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
  fi
}

unpack_missing_packages() {
  local -a packages=()
  compiler_suffices || packages+=(g++)
  python_suffices || packages+=(python3)
  # The sources: a compiler from build/env/root cannot use a library that is installed outside it.
  [[ -d /usr/src/googletest && ${#packages[@]} == 0 ]] || packages+=(googletest)
  [[ -e /usr/include/xxhash.h ]] || packages+=(libxxhash-dev)
  [[ -e /usr/include/zlib.h && -e /usr/include/zstd.h && ! " ${packages[*]} " == *" g++ "* ]] ||
    packages+=(zlib1g-dev libzstd-dev)
  ((${#packages[@]} == 0)) || private_packages "${packages[@]}"
  [[ ! -e $private_root/usr/bin/g++ ]] || wrap_compiler
}

compiler_suffices() {
  local probe
  probe=$(mktemp -d)
  echo '#include <concepts>
#include <span>
#include <thread>
int main() { std::jthread thread([] {}); }' >"$probe/probe.cpp"
  local status=0
  g++ -std=c++20 -pthread "$probe/probe.cpp" -o "$probe/probe" 2>/dev/null && gcc --version >/dev/null || status=1
  rm -rf "$probe"
  return $status
}

python_suffices() {
  python3 -c 'import ctypes, ssl, sys, venv; sys.exit(sys.version_info < (3, 9))' 2>/dev/null
}

# An unpacked compiler finds its own parts; headers and libraries it must be told of, and its tools' libraries too.
wrap_compiler() {
  local tool
  for tool in g++ gcc; do wrap_tool "$tool" "$tool" "--sysroot=$private_root"; done
  wrap_tool c++ g++ "--sysroot=$private_root"
  wrap_tool cc gcc "--sysroot=$private_root"
  for tool in ar as ld nm objcopy objdump ranlib readelf strip; do wrap_tool "$tool" "$tool"; done
}

# wrap_tool NAME PROGRAM [ARGUMENT]: makes build/env/bin/NAME.
wrap_tool() {
  cat >"$environment_folder/bin/$1" <<WRAPPER
#!/bin/sh
export LD_LIBRARY_PATH="$private_root/usr/lib/$(machine_triplet)\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export PATH="$environment_folder/bin:\$PATH"
exec "$private_root/usr/bin/$2" ${3:+"\"$3\""} "\$@"
WRAPPER
  chmod +x "$environment_folder/bin/$1"
}

install_python_packages() {
  local base=python3 libraries
  if [[ -x $private_root/usr/bin/python3 ]]; then
    base=$private_root/usr/bin/python3
    # For the modules of the unpacked Python whose libraries the machine lacks, ssl among them.
    libraries=$private_root/usr/lib/$(machine_triplet)
    local -x LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  fi
  make_python_environment "$base" "$environment_folder" scripts/private_requirements.txt
}
