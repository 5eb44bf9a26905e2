#!/usr/bin/env bash
# Attack the macOS sandbox on a Mac: the packaged hostile programs through the
# command that users have, then the backend's own tests. README.md beside this
# file says what to look at besides.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ "$(uname -s)" != Darwin ]; then
  echo 'run-on-mac: this is not macOS; go test ./test/escape attacks the sandboxes of Linux' >&2
  exit 2
fi
for tool in go python3 /usr/bin/sandbox-exec; do
  command -v "$tool" >/dev/null || { echo "run-on-mac: $tool is not installed" >&2; exit 2; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
go build -o "$folder/ptc-mcp" ./cmd/ptc-mcp

echo "== $(sw_vers -productName) $(sw_vers -productVersion), $(uname -m), $(python3 --version), $(git rev-parse --short HEAD)"

failed=0
step() {
  echo
  echo "== $1"
  shift
  "$@" || { failed=1; echo "== FAILED: $*"; }
}

# No configuration of the user's: the defaults, in this sandbox alone.
echo 'execution: {sandbox: seatbelt}' >"$folder/config.yaml"
echo 'print(6 * 7)' >"$folder/program.py"
step 'a program runs' "$folder/ptc-mcp" run --config "$folder/config.yaml" "$folder/program.py"
step 'what doctor finds' "$folder/ptc-mcp" doctor --config "$folder/config.yaml"
step 'every packaged attack' "$folder/ptc-mcp" doctor --attack --config "$folder/config.yaml"
step 'the same, as JSON, for the record' sh -c "'$folder/ptc-mcp' doctor --attack --json --config '$folder/config.yaml' >'$folder/attacks.json'"
step 'tests of the backend and of the attacks' go test -race -count 1 ./internal/sandbox/... ./internal/attack/... ./internal/executor/...

echo
echo '== nothing may be left'
# Told apart by what only they have: the profile's parameters, and folders of
# this project.
if pgrep -fl 'sandbox-exec .*-D' || ls -d "${TMPDIR:-/tmp}"/ptc-mcp-* 2>/dev/null; then
  failed=1
  echo '== FAILED: left behind'
fi

mkdir -p dist
cp "$folder/attacks.json" dist/attacks-mac.json && echo '== written: dist/attacks-mac.json'
exit "$failed"
