# Debian's and Ubuntu's packages without privilege: apt keeps its index and downloads in a folder of our own, and the
# packages are unpacked into build/env/root instead of being installed. Serves for the few things that PyPI has not
# (a compiler with its headers, GoogleTest's sources) and for Python itself.

private_root=$environment_folder/root
private_apt=$environment_folder/apt
private_apt_configuration=$private_apt/apt.conf

# The machine's own package sources and keys, but none of its packages: those that are there may be half of what is
# needed (gcc without g++, python3-minimal), and halves in two places do not find each other.
write_private_apt_configuration() {
  mkdir -p "$private_apt"/{lists,cache/archives}/partial
  : >"$private_apt/status"
  cat >"$private_apt_configuration" <<CONFIGURATION
Dir::State "$private_apt";
Dir::State::lists "$private_apt/lists";
Dir::State::status "$private_apt/status";
Dir::Cache "$private_apt/cache";
APT::Sandbox::User "";
Debug::NoLocking "true";
APT::Update::Post-Invoke-Success "";
CONFIGURATION
}

update_private_index() {
  command -v apt-get >/dev/null || fail "there is no apt-get here" "Spillway's set-up knows Debian and Ubuntu only"
  write_private_apt_configuration
  compgen -G "$private_apt/lists/*_Packages*" >/dev/null ||
    step "Reading the package index" env APT_CONFIG="$private_apt_configuration" apt-get update
}

# private_packages NAME...: unpacks the packages, and all that they depend on, into private_root.
private_packages() {
  update_private_index
  step "Fetching packages into build/env: $*" fetch_packages "$@"
  step "Unpacking them" unpack_packages
}

fetch_packages() {
  APT_CONFIG=$private_apt_configuration apt-get install --yes --no-install-recommends --download-only "$@"
}

# Folders such as /lib are links into /usr, as in the systems that the packages are made for: unpacking is done aside
# and merged, since it would replace the link by a folder. The machine's libraries take the place of unpacked ones and
# complete them, so that one set of libraries is linked against, loaded by the tools and used when programs run.
unpack_packages() {
  local package library libraries aside=$private_root.unpacked
  rm -rf "$private_root" "$aside"
  mkdir -p "$private_root/usr/lib" "$aside"
  ln -s usr/lib "$private_root/lib"
  ln -s /lib64 "$private_root/lib64"
  for package in "$private_apt"/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$aside"
  done
  [[ ! -d $aside/lib ]] || cp -a "$aside/lib/." "$private_root/usr/lib"
  cp -a "$aside/usr/." "$private_root/usr"
  rm -rf "$aside" "$private_apt"/cache/archives/*.deb
  libraries=$private_root/usr/lib/$(machine_triplet)
  mkdir -p "$libraries"
  for library in "/usr/lib/$(machine_triplet)"/*.so.*; do
    ln -sf "$library" "$libraries/"
  done
}

# Debian's name of the machine, such as x86_64-linux-gnu: the folder of its libraries.
machine_triplet() { basename "$(dirname "$(find -L /usr/lib -maxdepth 2 -name 'libc.so.6' | head -1)")"; }
