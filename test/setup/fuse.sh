#!/usr/bin/env bash
# Lets every user open /dev/fuse, as udev does on a usual Linux: the native
# sandbox of an ordinary user serves its devices through it, and the tests shall
# meet what users have. Machines without udev, such as containers, leave it to
# root. Where it cannot be had, sandboxes show the host's own devices, and the
# tests hold them to that.
set -euo pipefail
# shellcheck source=test/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

fuse=/dev/fuse
if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then
  exit
fi
[ -e "$fuse" ] || mknod "$fuse" c 10 229 2>/dev/null || true
if ! [ -c "$fuse" ] || ! chmod 0666 "$fuse" 2>/dev/null; then
  say "$fuse cannot be opened to all users"
fi
