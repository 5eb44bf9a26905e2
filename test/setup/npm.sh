#!/usr/bin/env bash
# npm.sh [FOLDER] installs what the package-lock.json of a folder has, into its
# node_modules: without one, those of test/npm, the MCP servers that the tests
# and the examples use.
set -euo pipefail
# shellcheck source=test/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

folder=${1:-test/npm}
cd "$root/$folder"
stamp=node_modules/.installed-lock.json
if cmp -s package-lock.json "$stamp" && command -v node >/dev/null; then
  exit
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  can_install || fail "node and npm are missing, and only as root on Debian can this script install them: install Node.js 20 or newer"
  install_packages nodejs npm
fi

say "installing the npm packages of $folder"
npm ci --no-audit --no-fund --loglevel=error >&2 || fail "npm could not install the packages of $folder: see the lines above"
cp package-lock.json "$stamp"
