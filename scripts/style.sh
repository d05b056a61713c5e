# Style of the sources: rewriting (`./dev format`) and checking (`./dev lint`). The tools are the same on every
# machine: exact versions from PyPI, in build/tools.

source scripts/python_environment.sh

style_tools=$PWD/build/tools

# Builds are left out. (git could list the files, but refuses a tree of another user, as containers have it.)
cpp_sources() { find . -path './build*' -prune -o -path './.git' -prune -o -type f -name '*.h' -print -o -name '*.cpp' -print; }

set_up_style_tools() {
  local ready=$style_tools/ready wanted
  wanted=$(sha256sum <scripts/style_requirements.txt)
  [[ $(cat "$ready" 2>/dev/null) != "$wanted" ]] || return 0
  rm -rf "$style_tools"
  make_python_environment "$python" "$style_tools" scripts/style_requirements.txt
  echo "$wanted" >"$ready"
}

format_sources() {
  set_up_style_tools
  step "Formatting C++" format_cpp -i
  step "Formatting Python" "$style_tools/bin/ruff" format .
}

check_format() {
  set_up_style_tools
  step "Checking the format of C++" format_cpp --dry-run --Werror
  step "Checking the format of Python" "$style_tools/bin/ruff" format --check .
}

format_cpp() { cpp_sources | xargs --no-run-if-empty "$style_tools/bin/clang-format" --style=file "$@"; }

# Needs a configured build: clang-tidy reads how each file is compiled from build/compile_commands.json.
lint_sources() {
  set_up_style_tools
  step "Looking for mistakes in Python" "$style_tools/bin/ruff" check .
  step "Looking for mistakes in C++" tidy_cpp
}

tidy_cpp() {
  compiled_sources | xargs --no-run-if-empty --max-procs="$(jobs)" --max-args=4 \
    "$style_tools/bin/clang-tidy" -p build --quiet
}

# What the build compiles, except what it generates.
compiled_sources() {
  "$python" -c 'import json
sources = {entry["file"] for entry in json.load(open("build/compile_commands.json"))}
print(*sorted(source for source in sources if "/build/" not in source), sep="\n")'
}
