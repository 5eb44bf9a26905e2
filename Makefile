# Everything a contributor runs. `make demo` and `make test` set up what they
# need by themselves: npm servers, and for the tests a Docker engine and images
# with Python.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
SCRIPTS := .ci/run $(wildcard test/*/*.sh images/*/*.sh examples/*/*.sh)

# Debian releases with the oldest to the newest Python that programs run on.
SUITES := bullseye bookworm trixie forky

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(shell command -v golangci-lint || echo .cache/bin/golangci-lint)

# The tests run against a real engine, and fail where there is none. Testcontainers'
# own cleaner is an image that offline machines cannot pull.
export TESTCONTAINERS_RYUK_DISABLED := true
export PTC_MCP_REQUIRE_DOCKER := 1

