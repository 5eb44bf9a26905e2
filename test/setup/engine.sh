#!/usr/bin/env bash
# Makes sure that a Docker engine answers: the one that DOCKER_HOST, the
# docker command's context or the default socket leads to, or else, as root on
# Debian, one that is installed and started here. Prints its address.
set -euo pipefail
# shellcheck source=test/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# How long a started engine may take to answer, in seconds. It is a matter of
# two or three; a loaded machine or a first start takes longer.
start_seconds=90

# address prints where an engine should be.
address() {
  if [ -n "${DOCKER_HOST:-}" ]; then
    printf '%s\n' "$DOCKER_HOST"
  elif command -v docker >/dev/null; then
    docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null || printf 'unix:///var/run/docker.sock\n'
  else
    printf 'unix:///var/run/docker.sock\n'
  fi
}

# answers WAIT tells whether the engine answers within WAIT, like "2s".
answers() { docker_api ping -wait "$1" 2>"$cache/engine.err"; }

# forget_dead removes the process numbers that an engine left behind when it
# was killed: were one in use again, dockerd would take that process for itself.
forget_dead() {
  local file
  for file in /run/docker.pid /run/docker/containerd/containerd.pid; do
    [ -s "$file" ] || continue
    case $(cat "/proc/$(cat "$file")/comm" 2>/dev/null) in
    dockerd | containerd) ;;
    *) rm -f "$file" ;;
    esac
  done
}

# start starts dockerd, which outlives this script.
start() {
  local log=$cache/dockerd.log pid
  forget_dead
  if [ -d /run/systemd/system ] && systemctl start docker 2>/dev/null; then
    answers "${start_seconds}s" && return
  fi
  say "starting dockerd (log: $log)"
  setsid dockerd >"$log" 2>&1 </dev/null &
  pid=$!
  for ((i = 0; i < start_seconds; i++)); do
    answers 1s && return
    if ! kill -0 "$pid" 2>/dev/null; then
      tail -n 15 "$log" >&2
      fail "dockerd ended at once: see the lines above. It needs a machine that may mount file systems and make cgroups"
    fi
    sleep 0.3
  done
  fail "dockerd does not answer after ${start_seconds} s: see $log"
}

build_docker_api
host=$(address)
export DOCKER_HOST=$host
if ! answers 2s; then
  [ "$host" = unix:///var/run/docker.sock ] ||
    fail "the Docker engine at $host does not answer ($(cat "$cache/engine.err")): start it, or unset DOCKER_HOST"
  if ! command -v dockerd >/dev/null; then
    can_install || fail "no Docker engine answers at $host ($(cat "$cache/engine.err")): start Docker, or set DOCKER_HOST. Only as root on Debian can this script install one"
    # iptables is what dockerd sets its bridge up with; Debian only recommends it.
    install_packages docker.io iptables
  fi
  [ "$(id -u)" = 0 ] || fail "no Docker engine answers at $host ($(cat "$cache/engine.err")): start it (sudo systemctl start docker), or run this as root"
  answers 3s || start
fi
printf '%s\n' "$host"
