#!/usr/bin/env bash
# Runs the docker backend's tests against other engines and runtimes, each
# started for it in a folder of its own and stopped afterwards; the engine in
# use lends its image only.
#
#   run.sh [ENGINE...]    podman podman-rootless docker-rootless gvisor; all
#
# As root, with the engines installed: podman catatonit crun or runc, and for
# the rootless ones rootlesskit uidmap and ENGINE_USER, an ordinary user with a
# home and a range in /etc/subuid and /etc/subgid. gvisor takes RUNSC, the path
# of a static runsc (CGO_ENABLED=0 go install gvisor.dev/gvisor/runsc@latest).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf 'engines: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
need() { for tool; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done; }

[ "$(id -u)" = 0 ] || fail 'this starts engines: run it as root'
need docker go
# Short, for the length of a socket's path; readable, for the ordinary user.
work=$(mktemp -d /tmp/engines.XXXXXX)
chmod 755 "$work"
pids=()
stop() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  pids=()
}
cleanup() {
  stop
  if [ -n "${ENGINE_USER:-}" ]; then (as_user rootlesskit rm -rf "$work/u") 2>/dev/null || true; fi
  # What an engine keeps mounted when it ends.
  awk -v work="$work/" 'index($2, work) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount -l
  rm -rf "$work"
}
trap cleanup EXIT

image=$(test/setup/image.sh)
docker save -o "$work/image.tar" "$image"
chmod 644 "$work/image.tar"
CGO_ENABLED=0 go test -c -o "$work/docker.test" ./internal/sandbox/docker

# as_user takes the shell's place, so that a signal reaches the command.
as_user() {
  exec env -i HOME="$work/u" XDG_RUNTIME_DIR="$work/u/run" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    ${CONTAINERS_CONF:+CONTAINERS_CONF="$CONTAINERS_CONF"} \
    setpriv --reuid "$ENGINE_USER" --regid "$(id -g "$ENGINE_USER")" --init-groups "$@"
}

user() {
  [ -n "${ENGINE_USER:-}" ] || fail 'set ENGINE_USER to an ordinary user with a range in /etc/subuid'
  grep -q "^$ENGINE_USER:" /etc/subuid || fail "$ENGINE_USER has no range in /etc/subuid"
  need rootlesskit newuidmap setpriv
  install -d -m 700 -o "$ENGINE_USER" "$work/u" "$work/u/run"
}

# start NAME SOCKET COMMAND... waits for an engine and gives it the image.
start() {
  local name=$1 socket=$2
  shift 2
  "$@" >"$work/$name.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 150); do
    if DOCKER_HOST=unix://$socket docker version >/dev/null 2>&1; then
      DOCKER_HOST=unix://$socket docker load -q -i "$work/image.tar" >&2
      return
    fi
    sleep 0.2
  done
  tail -n 15 "$work/$name.log" >&2
  fail "$name does not answer"
}

# check NAME SOCKET IMAGE SKIP [WRAPPER...] runs the tests that hold for every
# engine. SKIP names what this one is known not to do; docs/threat-model.md.
check() {
  local name=$1 socket=$2 tested=$3 skip=$4
  shift 4
  say "$name"
  ("$@" env DOCKER_HOST="unix://$socket" PTC_MCP_TEST_IMAGE="$tested" PTC_MCP_TEST_RUNTIME="${runtime:-}" PTC_MCP_REQUIRE_DOCKER=1 \
    TMPDIR=/tmp "$work/docker.test" -test.timeout 15m -test.skip "$skip" \
    -test.run '^(TestConformance|TestSandboxesThatWaitedConform|TestWithheldCallsAreRefused|TestWhatPythonNeedsIsAllowed|TestLeftovers.*)$')
}

isolated_dockerd() { exec unshare --net dockerd --bridge none --iptables=false --ip-forward=false "$@"; }

# Podman 4.3 sees no process end for its memory under cgroup v1.
no_oom='/^output_and_status_are_kept_after_too_much_memory$'
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then no_oom='^$'; fi

podman() {
  need podman
  start podman "$work/podman.sock" command podman --root "$work/podman" --runroot "$work/podman-run" system service --time 0 "unix://$work/podman.sock"
  check podman "$work/podman.sock" "localhost/$image" "$no_oom"
}

podman_rootless() {
  need podman
  user
  start podman-rootless "$work/u/podman.sock" as_user podman system service --time 0 "unix://$work/u/podman.sock"
  check podman-rootless "$work/u/podman.sock" "localhost/$image" "$no_oom|/^the_limit_of_open_files$" as_user
}

docker_rootless() {
  user
  need dockerd
  # Without a network: no test needs one, and slirp4netns needs /dev/net/tun.
  # shellcheck disable=SC2016 # for the inner shell
  start docker-rootless "$work/u/docker.sock" as_user rootlesskit --net=host --copy-up=/etc --copy-up=/run --state-dir="$work/u/kit" \
    sh -c 'rm -rf /run/docker /run/containerd; exec unshare --net dockerd --rootless --bridge none --iptables=false --ip-forward=false \
      --data-root "$HOME/docker" --exec-root "$XDG_RUNTIME_DIR/docker" --pidfile "$HOME/pid" --host "unix://$HOME/docker.sock"'
  check docker-rootless "$work/u/docker.sock" "$image" '^$' as_user
}

gvisor() {
  need dockerd
  local runsc
  runsc=$(command -v "${RUNSC:-runsc}") || fail 'set RUNSC to the path of a static runsc'
  start gvisor "$work/docker.sock" isolated_dockerd --host "unix://$work/docker.sock" --data-root "$work/docker" --exec-root "$work/exec" \
    --pidfile "$work/pid" --add-runtime "runsc=$runsc"
  # gVisor is one process for the kernel: out of memory ends it whole. Calls
  # that the profile forbids, and address families, are its own.
  runtime=runsc check gvisor "$work/docker.sock" "$image" \
    'TestWithheldCallsAreRefused|/^(output_and_status_are_kept_after_a_child_with_too_much_memory,_handled|the_memory_limit_counts_all_processes_together|it_is_not_root_and_has_no_capabilities|there_is_no_network)$'
}

[ $# -gt 0 ] || set -- podman podman-rootless docker-rootless gvisor
for engine; do
  case $engine in
    podman | podman-rootless | docker-rootless | gvisor) "${engine//-/_}" ;;
    *) fail "no engine $engine: podman podman-rootless docker-rootless gvisor" ;;
  esac
  stop
done
say 'all passed'
