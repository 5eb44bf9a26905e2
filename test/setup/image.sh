#!/usr/bin/env bash
# Makes sure that there is an image with Python to run programs in, and prints
# its name.
#
#   image.sh          PTC_MCP_TEST_IMAGE, if set; else the one used before; else
#                     python:3.12-slim, if it is there or can be pulled; else a
#                     stand-in built from Debian's packages. Remembered in
#                     .cache/image, so that later runs ask no registry.
#   image.sh SUITE    the stand-in of that Debian suite: bullseye has Python
#                     3.9, bookworm 3.11, trixie 3.13, forky 3.14
set -euo pipefail
# shellcheck source=test/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

wanted=python:3.12-slim
stand_in=ptc-mcp/python-offline

# offline SUITE prints the stand-in's name, and builds it if it is not there:
# as root on Debian with debootstrap, elsewhere on top of Debian's own image.
offline() {
  local ref=$stand_in:$1 log=$cache/image-$1.log tar=$cache/image-$1.tar start=$SECONDS
  if ! docker_api has "$ref" 2>/dev/null; then
    if can_install && ! command -v debootstrap >/dev/null; then install_packages debootstrap; fi
    say "building $ref from Debian's packages; this takes a minute or two (log: $log)"
    if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
      # By way of a file: half a root file system must not become an image.
      "$root/images/offline/rootfs.sh" "$1" 2>"$log" >"$tar" && docker_api import "$ref" <"$tar"
    else
      docker build --build-arg "SUITE=$1" -t "$ref" "$root/images/offline" >"$log" 2>&1
    fi || {
      tail -n 15 "$log" >&2
      fail "$ref could not be built: see the lines above. With $wanted at hand in the engine, demo and most tests do without it"
    }
    rm -f "$tar"
    say "built $ref in $((SECONDS - start)) s"
  fi
  printf '%s\n' "$ref"
}

choose() {
  if [ -n "${PTC_MCP_TEST_IMAGE:-}" ]; then
    docker_api has "$PTC_MCP_TEST_IMAGE" || fail "PTC_MCP_TEST_IMAGE is $PTC_MCP_TEST_IMAGE, and the engine has no such image"
    printf '%s\n' "$PTC_MCP_TEST_IMAGE"
    return
  fi
  local used
  used=$(cat "$cache/image" 2>/dev/null || true)
  if [ -n "$used" ] && docker_api has "$used" 2>/dev/null; then
    printf '%s\n' "$used"
    return
  fi
  used=$wanted
  if ! docker_api has "$wanted" 2>/dev/null; then
    say "pulling $wanted"
    docker_api pull -wait 60s "$wanted" 2>"$cache/pull.err" || {
      say "it cannot be pulled ($(head -c 200 "$cache/pull.err"))"
      used=$(offline bookworm)
    }
  fi
  printf '%s\n' "$used" | tee "$cache/image"
}

DOCKER_HOST=$("$root/test/setup/engine.sh")
export DOCKER_HOST
case ${1:-} in
'') choose ;;
bullseye | bookworm | trixie | forky) offline "$1" ;;
*) fail "unknown suite $1: bullseye, bookworm, trixie or forky" ;;
esac
