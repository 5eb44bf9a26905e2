#!/usr/bin/env bash
# Writes to stdout, as a tar, the root file system of an image with Python,
# made from Debian's packages alone: for machines that reach no image registry.
# Needs root and debootstrap; what it does goes to stderr.
#
#   rootfs.sh SUITE | docker import - ptc-mcp/python-offline:SUITE
#
# DEBIAN_MIRROR replaces debootstrap's default mirror.
set -euo pipefail

suite=${1:?usage: rootfs.sh SUITE}

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ptc-mcp-$suite.XXXXXX")
clean() {
  umount -q "$dir/proc" "$dir/sys" 2>/dev/null || true
  rm -rf --one-file-system "$dir"
}
trap clean EXIT

# Suites newer than this debootstrap bootstrap like the newest stable it knows.
scripts=/usr/share/debootstrap/scripts
script=$scripts/$suite
[ -e "$script" ] || script=$scripts/trixie
[ -e "$script" ] || script=$scripts/sid

debootstrap --variant=minbase --include=python3,tzdata \
  "$suite" "$dir" "${DEBIAN_MIRROR:-}" "$script" >&2

# What no program reads.
(
  cd "$dir"
  rm -rf usr/share/{bug,doc,doc-base,info,lintian,locale,man} \
    var/cache/* var/lib/apt/lists/* var/log/* dev/* tmp/*
)

chroot "$dir" /usr/bin/python3 -I -c 'import asyncio, json, sys; print(sys.version, file=sys.stderr)'

tar -C "$dir" --numeric-owner --one-file-system -c .
