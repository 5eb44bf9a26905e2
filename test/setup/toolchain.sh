#!/usr/bin/env bash
# Makes sure of what the tests are built and run with besides Go: the race
# detector needs a C compiler, the runner's own tests a Python, those of the typed
# wrappers mypy.
set -euo pipefail
# shellcheck source=test/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

missing=()
command -v "$(go env CC)" >/dev/null || missing+=(gcc libc6-dev)
command -v python3 >/dev/null || missing+=(python3)
command -v mypy >/dev/null || missing+=(mypy)
if [ ${#missing[@]} -gt 0 ]; then
  can_install || fail "missing: ${missing[*]}. Only as root on Debian can this script install them"
  install_packages "${missing[@]}"
fi
