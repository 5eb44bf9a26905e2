# shellcheck shell=bash
# What the set-up scripts share: progress on stderr, packages from Debian, and
# the Docker engine's API. Sourced, not run.

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

# can_install tells whether packages can be installed here without asking.
can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# install_packages NAME... installs Debian packages. The package lists are
# fetched first only where that is needed, for it takes longer than the rest.
install_packages() {
  local log=$cache/apt.log
  say "installing $* (log: $log)"
  if ! apt_install "$@" >"$log" 2>&1; then
    apt-get update -q >>"$log" 2>&1 || true
    apt_install "$@" >>"$log" 2>&1 || {
      tail -n 15 "$log" >&2
      fail "apt-get could not install $*: see the lines above"
    }
  fi
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

# docker_api VERB... asks the engine; see test/setup/docker.
docker_api() { "$cache/bin/docker-api" "$@"; }

# build_docker_api makes docker_api ready; where nothing changed it is quick.
build_docker_api() {
  command -v go >/dev/null || fail "Go is missing: install it from https://go.dev/dl and try again"
  [ -x "$cache/bin/docker-api" ] || say "fetching Go modules and building"
  (cd "$root" && go build -o "$cache/bin/docker-api" ./test/setup/docker) ||
    fail "test/setup/docker does not build: see the lines above"
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=$root/.cache
mkdir -p "$cache"
