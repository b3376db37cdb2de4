# Ocelli's commands. `make help` lists them.

SHELL := /bin/bash
export PKG_CONFIG_PATH := $(CURDIR)/.deps/pkgconfig$(if $(PKG_CONFIG_PATH),:$(PKG_CONFIG_PATH))

PREFIX ?= /usr/local
DESTDIR ?=
# Package.swift has the program carry Swift's runtime: --static-swift-stdlib here would compile everything twice, once for
# the tests.
SWIFT_BUILD := swift build -c release
BINARY := .build/release/ocelli
# The linker's remark on Foundation's own use of mktemp is not ours to fix.
.SHELLFLAGS := -o pipefail -c
QUIET := 2>&1 | grep --line-buffered -v "warning: the use of .mktemp. is dangerous"

# One tree with AddressSanitizer, for these tests and for scripts/fuzz.
ASAN_TARGETS := HTTPWireTests,ImagePipelineTests,ObservationsTests,imagetool

.DEFAULT_GOAL := help

.PHONY: help setup setup-tests deps build run test test-all quick mutants test-asan test-tsan fuzz bench format lint install uninstall deb image wheel clean env

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup: ## install what Ocelli is built from (apt packages, OpenVINO, ONNX Runtime, LiteRT)
	@scripts/setup

setup-tests: ## install the programs that some tests use as clients (curl, wrk, nginx...)
	@scripts/setup-tests

deps:
	@scripts/setup --quiet

build: deps ## build .build/release/ocelli
	$(SWIFT_BUILD) --product ocelli $(QUIET)

run: build ## build, and serve the embedded model on 127.0.0.1:8080 (ARGS="--listen :9000" for more)
	$(BINARY) serve $(ARGS)

test: deps ## build, and run the tests for every change (those that match with TESTS="regex")
	scripts/test $(if $(TESTS),'$(TESTS)')

test-all: deps ## build, and run all tests, the long ones too (those that match with TESTS="regex")
	TEST_LONG=once scripts/test $(if $(TESTS),'$(TESTS)')

quick: deps ## build in debug mode, incrementally, and run one target's tests (TESTS="FlowControlTests")
	scripts/quick $(if $(TESTS),'$(TESTS)')

mutants: deps ## mutation tests: plant known bugs, one at a time, and check that the tests kill each (BUGS="FlowControl", or --today 10)
	scripts/mutants $(BUGS)

test-asan: deps ## the parsers and decoders under AddressSanitizer
	OCELLI_ONLY=$(ASAN_TARGETS) swift build -c release --build-tests --sanitize=address --scratch-path .build/asan $(QUIET)
	OCELLI_ONLY=$(ASAN_TARGETS) swift test --skip-build -c release --sanitize=address --disable-testable-imports --disable-xctest \
	    --scratch-path .build/asan --no-parallel --filter 'HTTPWireTests|ImagePipelineTests|ObservationsTests' $(QUIET)

test-tsan: deps ## the concurrent parts under ThreadSanitizer
	OCELLI_ONLY=FlowControlTests swift test --sanitize=thread --disable-xctest --scratch-path .build/tsan --no-parallel \
	    --filter 'FlowControlTests' --skip LimiterRandomTests $(QUIET)

fuzz: deps ## fuzz the parsers and decoders, shortly (scripts/fuzz http, scripts/fuzz images take counts)
	scripts/fuzz http 200000 20
	scripts/fuzz tokenizers 50000 20
	scripts/fuzz images

bench: build ## measure, and print tables (Benchmarks/ has each alone)
	@for script in Benchmarks/http-wire/run Benchmarks/image/run Benchmarks/inference/run; do echo "== $$script"; $$script; done

format: ## format the sources and their comments
	swift format --in-place --parallel --recursive Package.swift Sources Tests
	scripts/check-comments --format

lint: ## check the format of sources and comments, the order of targets and folders, and the documents
	swift format lint --strict --parallel --recursive Package.swift Sources Tests
	scripts/check-layers-test
	scripts/check-lengths --self-test
	scripts/check-comments --self-test
	scripts/check-paths --self-test
	scripts/check-paths
	scripts/check-documents --self-test
	deploy/checks/check-commands --self-test

install: build ## install to PREFIX (default /usr/local), under DESTDIR
	OCELLI_FINAL_PREFIX="$(PREFIX)" scripts/install "$(DESTDIR)$(PREFIX)"

deb: build ## build a Debian package in .build/deb
	scripts/deb

image: build ## make an OCI image in .build/image, without Docker (MODELS=DIR: images with these models; COMPILE=1: compiled)
	scripts/image $(if $(MODELS),--models "$(MODELS)") $(if $(COMPILE),--compile)

wheel: ## build the Python package, dist/ocelli-VERSION-py3-none-any.whl
	scripts/wheel

uninstall: ## remove what install put there
	scripts/install --remove "$(DESTDIR)$(PREFIX)"

env: ## print the shell variables that a bare `swift build` needs: eval "$(make env)"
	@echo "export PKG_CONFIG_PATH='$(PKG_CONFIG_PATH)'"

clean: ## remove what was built (not .deps), and the tests' compiled models
	rm -rf .build "$${TMPDIR:-/tmp}/ocelli-test-cache-$$(id -u)"
