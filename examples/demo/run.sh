#!/usr/bin/env bash
# Runs the demo in the best sandbox that is ready: containers where an engine
# has an image with Python, else the system's own (native on Linux), else
# containers in an engine that it sets up. It installs the npm servers, and a
# Python where there is none. Called by `make demo`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=test/setup/setup.sh
. test/setup/setup.sh

test/setup/npm.sh
build_docker_api

config=examples/demo/config.yaml
image=
for ref in python:3.12-slim "$(cat .cache/image 2>/dev/null || true)" ptc-mcp/python-offline:bookworm; do
  if [ -n "$ref" ] && docker_api has "$ref" 2>/dev/null; then
    image=$ref
    break
  fi
done
if [ -z "$image" ] && ! command -v python3 >/dev/null; then
  can_install || fail "there is neither a Docker engine with an image nor a Python here: install one of them"
  install_packages python3
fi
if [ -z "$image" ] && ! bin/ptc-mcp run - <<<'pass' >/dev/null 2>&1; then
  say "no sandbox can be used here yet"
  image=$(test/setup/image.sh)
fi
if [ -n "$image" ] && [ "$image" != python:3.12-slim ]; then
  { cat "$config" && printf '\ndocker:\n  image: %s\n' "$image"; } >.cache/demo.yaml
  config=.cache/demo.yaml
fi

cat >&2 <<'TEXT'

Which accounts is a shop about to lose, and who should call them? One program
reads a year of orders from a file server and notes from a memory server, joins
them, and prints what matters. This is all that a model would read:

TEXT
bin/ptc-mcp run --config "$config" examples/demo/program.py
cat >&2 <<'TEXT'

With direct tool calls, all that stayed in the sandbox would have gone through
the model's context. The program: examples/demo/program.py
TEXT
