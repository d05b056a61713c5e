# Python environments with packages from PyPI, made with whatever Python is here.

# make_python_environment PYTHON FOLDER REQUIREMENTS
make_python_environment() {
  local names
  names=$(grep -oE '^[a-z-]+' "$3" | xargs)
  step "Making a Python environment in ${2#"$PWD/"}" make_venv "$1" "$2"
  step "Installing from PyPI: $names" \
    "$2/bin/python3" -m pip install --disable-pip-version-check --no-cache-dir --requirement "$3"
}

# Debian splits pip (ensurepip) from Python; where it is missing, pip comes from the package index.
make_venv() {
  if "$1" -c 'import ensurepip' 2>/dev/null && "$1" -m venv "$2"; then
    return 0
  fi
  "$1" -m venv --without-pip "$2"
  "$2/bin/python3" scripts/bootstrap_pip.py
}
