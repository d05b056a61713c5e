#!/usr/bin/env bash
# Runs a command of ./dev on a fresh clone inside a bare machine, to try what a first visitor meets: a minimal Debian or
# Ubuntu in a folder of its own, with git and no more. Needs root and debootstrap; leaves nothing behind.
set -euo pipefail
source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

usage() {
  cat <<'HELP'
Usage: scripts/on_bare_machine.sh root|user [./dev command and its arguments]      (default: ./dev test)

  root   the command runs as root and installs packages
  user   it runs as an ordinary user without sudo, in a private environment

Environment
  SUITE        distribution to install (default: bookworm); Ubuntu's (jammy, ...) need Ubuntu's archive keyring
  COMPONENTS   of it, separated by commas (default: main; for Ubuntu main,universe, as Ubuntu's installers set it up)
  MIRROR       where from (default: debootstrap's own)
  FOLDER       where to put the machine, 2 GB and more (default: a new folder in /var/tmp)
HELP
}

case ${1:-} in
  root | user) visitor=$1 ;;
  *) usage && exit 2 ;;
esac
shift
[[ $# -gt 0 ]] || set -- ./dev test

# In namespaces of their own, the machine's mounts and processes end with the script, however that ends.
if [[ -z ${IN_OWN_NAMESPACES:-} ]]; then
  export IN_OWN_NAMESPACES=1
  exec unshare --mount --propagation private --pid --fork --kill-child "$0" "$visitor" "$@"
fi

machine=$(mktemp -d "${FOLDER:-/var/tmp}/bare-machine.XXXXXX")
chmod 755 "$machine"
# --one-file-system: whatever is still mounted in there is not this script's to delete.
remove_machine() {
  for folder in proc sys dev run/netns; do  # the last one comes of tests that make network namespaces
    mountpoint -q "$machine/$folder" && umount --lazy "$machine/$folder"
  done
  rm -rf --one-file-system "$machine"
}
trap remove_machine EXIT
trap 'exit 143' TERM INT HUP

echo "==> Installing a minimal ${SUITE:=bookworm} in $machine"
if grep -qs ubuntu "/usr/share/debootstrap/scripts/$SUITE"; then : "${COMPONENTS:=main,universe}"; fi
debootstrap --variant=minbase --components="${COMPONENTS:-main}" --include=git,ca-certificates "$SUITE" "$machine" \
  ${MIRROR:+"$MIRROR"} >"$machine.log" 2>&1 ||
  { tail "$machine.log" && exit 1; }
rm -f "$machine.log"

# An empty package index and cache; the certificates and names by which this machine reaches its package sources.
rm -rf "$machine"/var/lib/apt/lists/* "$machine"/var/cache/apt/archives/*.deb
cp -L /etc/ssl/certs/ca-certificates.crt "$machine/etc/ssl/certs/"
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
chroot "$machine" useradd --create-home --shell /bin/bash user
mount -t proc proc "$machine/proc"
mount --rbind /sys "$machine/sys"
mount --rbind /dev "$machine/dev"
mount -t tmpfs -o mode=1777 shm "$machine/dev/shm" # jobs of others on this machine are not the tests' business

home=/root
[[ $visitor == root ]] || home=/home/user
git clone --quiet --no-hardlinks "$source" "$machine$home/spillway"
chroot "$machine" chown -R "$visitor:$visitor" "$home/spillway"

settings=(HOME="$home" USER="$visitor" LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
while IFS= read -r setting; do settings+=("$setting"); done < <(env | grep -E '^(PIP_|SSL_CERT_FILE=|https?_proxy=|SPILLWAY_)' || true)
echo "==> $* as $visitor"
status=0
env -i "${settings[@]}" chroot --userspec="$visitor:$visitor" "$machine" \
  bash -c 'cd "$HOME/spillway" && exec "$@"' bash "$@" </dev/null || status=$?
echo "==> status $status; programs: $(cd "$machine$home/spillway/build/bin" 2>/dev/null && echo *)"
exit "$status"
