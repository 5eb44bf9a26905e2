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

.PHONY: build setup demo test test-go test-engines test-kernels escape soak test-runner vet lint fmt cover fuzz bench bench-full bench-compare cross image clean help

build: ## Build bin/ptc-mcp
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ptc-mcp ./cmd/ptc-mcp

setup: ## Make sure of a Docker engine, an image with Python and the npm servers
	@test/setup/image.sh >/dev/null
	@test/setup/npm.sh

demo: build ## Run examples/demo: many calls of real servers, five lines of output
	@examples/demo/run.sh

test: setup vet test-runner test-go ## Run all tests, with the race detector

test-go: setup
	@test/setup/toolchain.sh
	@test/setup/npm.sh test/clients/claude-code
	@for suite in $(SUITES); do test/setup/image.sh $$suite >/dev/null; done
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) go test -race -timeout 18m ./...

escape: setup ## Make every attack on every sandbox, also on those that seldom differ
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) PTC_MCP_ALL_ATTACKS=1 go test -race -timeout 30m -count 1 -run 'NoAttackEscapes|OrdinaryUserIsSafe' ./test/escape

soak: export PTC_MCP_SOAK_DOCKERD ?= 1
soak: setup ## Kill sandboxes and ptc-mcp, restart a dockerd, at random through 1,000 runs; nothing may be left
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) PTC_MCP_SOAK_RUNS=1000 go test -race -timeout 60m -count 1 -v -run 'SuddenDeaths|OutlivesItsEngine|EngineIsRestarted' ./test/escape

test-engines: setup ## Run the sandbox tests on Podman, rootless Docker and gVisor (root; test/engines/run.sh says what is needed)
	@PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) test/engines/run.sh $(ENGINES)

test-kernels: ## Run the native sandbox's tests on other kernels, in virtual machines (root on Debian; hours without KVM)
	@test/kernels/run.sh $(KERNELS)

test-runner:
	@test/setup/toolchain.sh
	cd images/runner && python3 -m unittest discover -s tests -t .

vet:
	go vet ./...
	GOOS=darwin go vet ./...

lint: $(GOLANGCI) ## Lint for Linux and macOS; scripts and the runner too, where their linters are installed
	$(GOLANGCI) run ./...
	GOOS=darwin $(GOLANGCI) run ./...
	@if command -v shellcheck >/dev/null; then shellcheck -x $(SCRIPTS); else echo 'lint: shellcheck is not installed, scripts not checked' >&2; fi
	@if command -v mypy >/dev/null; then cd images/runner && mypy; else echo 'lint: mypy is not installed, runner not checked' >&2; fi
	@if command -v ruff >/dev/null; then cd images/runner && ruff check .; else echo 'lint: ruff is not installed, Python style not checked' >&2; fi

.cache/bin/golangci-lint:
	@echo 'building golangci-lint $(GOLANGCI_VERSION), once; this takes some minutes' >&2
	GOBIN=$(CURDIR)/.cache/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

fmt: $(GOLANGCI) ## Format the Go code
	$(GOLANGCI) fmt ./...

cover: setup ## Show how much of each package its tests cover
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) go test -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -n 1

FUZZTIME ?= 30s
fuzz: ## Fuzz every decoder, FUZZTIME each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do \
	  for target in $$(grep -ohE '^func Fuzz\w+' "$$file" | cut -c6-); do \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")"; \
	  done; \
	done

# BENCH takes flags of test/bench, such as BENCH='-quick -rows print -sandbox native'.
BENCH ?=
bench: build setup ## Measure runs and calls against the floors of this machine, in a quarter of an hour
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) go run ./test/bench $(BENCH)

bench-full: build setup ## The same over the whole range, for an hour; renews docs/performance.md
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) go run ./test/bench -full -json bin/bench.json -page docs/performance.md $(BENCH)

export OTHER ?=
bench-compare: build setup ## Measure another MCP server side by side: OTHER='command'
	@[ -n "$$OTHER" ] || { echo "bench-compare: give the other server's command, as in make bench-compare OTHER='other-server --stdio'" >&2; exit 2; }
	PTC_MCP_TEST_IMAGE=$$(test/setup/image.sh) go run ./test/bench -sandbox native -other "$$OTHER" $(BENCH)

cross: ## Compile for every platform
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
	  echo "build $$os/$$arch" >&2; \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -o /dev/null ./cmd/ptc-mcp; \
	done; done

image: setup ## Build an image with the runner precompiled, on top of the one in use
	tar -c Dockerfile.runner images/runner | docker build --build-arg BASE=$$(test/setup/image.sh) -f Dockerfile.runner -t ptc-mcp-runner -

clean: ## Remove what was built here; images and installed packages stay
	rm -rf bin dist .cache coverage.out test/npm/node_modules test/clients/claude-code/node_modules

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r t d; do printf '  %-13s %s\n' "$$t" "$$d"; done
