#!/usr/bin/env bash
# Runs the demo with the image that setting up found or built. Called by
# `make demo`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

config=examples/demo/config.yaml
image=$(test/setup/image.sh)
if [ "$image" != python:3.12-slim ]; then
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
