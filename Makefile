# `make` lists the goals. Each sets up what it needs (on Debian, with apt) and needs no network from then on.

SHELL := /bin/bash
BIN := .build/debug
FUZZ_SECONDS ?= 60
# Suites that take long and seldom fail. TURN=0, 1 or 2 takes one line of them: .ci/run has another turn each day.
TURN_0 := mutants-rooms
TURN_1 := fuzz-short traits-share
TURN_2 := bench-quick footprint-share
# What .ci/run has run beside the others, for one suite alone does not keep two cores busy.
BESIDE := $(if $(TURN),$(TURN_$(TURN)),$(TURN_0) $(TURN_1) $(TURN_2)) tool conformance-share interop-wamp
# need PACKAGE…: installs Debian packages that are missing. A Mac has in its SDK what the build needs.
ifeq ($(shell uname -s),Darwin)
NEED := true
else
NEED := need() { source scripts/setup.sh && need_apt git ca-certificates zlib1g-dev libsqlite3-dev "$$@"; }; need
endif
TALLY := scripts/tally
# A fresh clone takes the versions that are pinned, and not the newest that the manifest allows.
PINNED = [ -e Package.resolved ] || $(MAKE) --no-print-directory pins

.PHONY: help demo install docs build pins sbom test beside unit simulate mutants mutants-rooms board tool network fuzz-short conformance-share interop interop-wamp codecs tls proxies doctor http2 quotes rooms-browser crash-points abuse chaos chaos-share survive survive-share lint format bench bench-codecs bench-quick footprint footprint-share traits traits-share bench-quotes bench-hub bench-wamp fuzz soak conformance sanitize clean
# Two goals at once would only wait for each other's build.
.NOTPARALLEL:

help:
	@echo "make GOAL, where GOAL is one of"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile

demo: ## Two people in a room: their link is cut, the hub killed with -9 (builds the tool first; then under 20 s)
	@$(NEED)
	@$(PINNED)
	swift run holdfast demo

PREFIX ?= /usr/local
# Swift marks what is public as in use. In a program nobody else can use it: with these flags the linker leaves out what the program does not.
FRONTEND := -Xswiftc -Xfrontend -Xswiftc
RELEASE := -c release --scratch-path .build/lean $(FRONTEND) -function-sections $(FRONTEND) -internalize-at-link
install: ## The tool, stripped, into PREFIX/bin (PREFIX=/usr/local; a release build first)
	@$(NEED) binutils
	@$(PINNED)
	swift build $(RELEASE) --product holdfast
	@mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	@install -m 755 "$$(swift build $(RELEASE) --show-bin-path)/holdfast" "$(DESTDIR)$(PREFIX)/bin/holdfast"
	@strip "$(DESTDIR)$(PREFIX)/bin/holdfast"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/holdfast, $$(du -m "$(DESTDIR)$(PREFIX)/bin/holdfast" | cut -f1) MB"

test: unit network interop codecs tls proxies doctor http2 quotes rooms-browser crash-points board survive-share abuse chaos-share $(BESIDE) ## All tests: unit, simulation, bugs put in, tool, network, fuzz, Autobahn (with a share of its slow cases), real peers, proxies, diagnoses, the pages, crashes, bad links, cost

beside: $(BESIDE)

lint: build ## Format, purity of Core, documentation, dependencies and their pins, snippets, API of iOS 17 and macOS 14
	@$(NEED) python3 binutils
	@scripts/lint/all.sh

docs: build ## The documentation of all products as one static site in reports/site (HOSTING_BASE=/path if it will not lie at its host's root)
	@$(NEED) python3
	@HOSTING_BASE="$(HOSTING_BASE)" scripts/lint/docs.sh
	@scripts/lint/site.sh
	@echo "To read it: python3 -m http.server --bind 127.0.0.1 --directory reports/site"

build: ## Everything in debug, tests and snippets included
	@$(NEED)
	@$(PINNED)
	@$(TALLY) stage build swift build --build-tests

pins: ## Have SwiftPM take the versions in scripts/pins.json: then what is built is what was tested
	@$(NEED) python3
	@scripts/pins.py resolve

sbom: build ## What the tool and its hub consist of, with versions and licences, as CycloneDX: into reports/holdfast.cdx.json
	@$(NEED) python3 binutils
	@mkdir -p reports
	@scripts/sbom.py > reports/holdfast.cdx.json
	@echo "reports/holdfast.cdx.json: $$(grep -c '"bom-ref"' reports/holdfast.cdx.json) components"

unit: build ## Unit tests, with the fuzz corpus replayed
	@$(TALLY) suite unit swift test --skip-build --disable-xctest --no-parallel

simulate: build ## Sessions (RUNS=n, 200), rooms (10,000) and WAMP (200) in hostile worlds; SEED=n lives through one alone, told step by step
	@SEED="$(SEED)" RUNS="$(RUNS)" swift test --skip-build --disable-xctest --filter SessionSimulationTests
	@SEED="$(SEED)" RUNS="$(or $(RUNS),10000)" swift test --skip-build --disable-xctest --filter RoomsSimulationTests
	@SEED="$(SEED)" RUNS="$(or $(RUNS),200)" swift test --skip-build --disable-xctest --filter WAMPSimulationTests

mutants: mutants-rooms ## Bugs put into the rules of sessions, rooms and WAMP, and into the hub's store, one by one: the tests have to see each of them (half an hour)
	@$(NEED)
	@$(TALLY) suite mutants scripts/mutants/run.sh session
	@$(TALLY) suite mutants-stream scripts/mutants/run.sh stream
	@$(TALLY) suite mutants-protocol scripts/mutants/run.sh protocol
	@$(TALLY) suite mutants-wamp scripts/mutants/run.sh wamp
	@$(TALLY) suite mutants-hub scripts/mutants/run.sh hub
	@$(TALLY) suite mutants-store scripts/mutants/run.sh store

mutants-rooms:
	@$(NEED)
	@$(TALLY) suite mutants-rooms scripts/mutants/rooms/run.sh

tool: build ## The command-line tool, run as people and scripts run it
	@$(NEED) python3 openssl
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite tool scripts/test-tool.sh

network: build ## Interfaces that come and go, in a network namespace of its own (Linux, as root)
	@$(NEED) iproute2 util-linux
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite network scripts/test-network.sh

fuzz-short:
	@$(NEED)
	@$(PINNED)
	@$(TALLY) suite fuzz Fuzz/run.sh 5

conformance-share: build
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite conformance Conformance/run.sh share

interop: build ## Node ws, Python websockets, websocketd, nginx with TLS and Chromium
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite interop Interop/run.sh

interop-wamp: build ## WAMP beside Crossbar, autobahn-python and xconn: every method, both directions, routers killed with -9
	@HOLDFAST=$(BIN)/holdfast HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite interop-wamp Interop/wamp/run.sh

codecs: build ## MessagePack, CBOR, JSON and the frames of rooms beside Python's, in both directions
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite codecs Interop/codecs/run.sh
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite room-frames Interop/rooms/frames.sh

tls: build ## TLS of nginx, Python and Go: versions, chains, names, dates, pins and client certificates, good and bad
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite tls Interop/tls/run.sh

proxies: build ## Through tinyproxy, squid, microsocks and dante; past nginx with a password and with cookies
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite proxies Interop/proxies/run.sh
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite guards Interop/guards/run.sh

doctor: build ## `holdfast doctor` examines real servers, broken ones, and places where there is none
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite doctor Interop/doctor/run.sh

http2: build ## WebSockets over HTTP/2 with hypercorn, HAProxy and Chromium
	@HOLDFAST=$(BIN)/holdfast HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite http2 Interop/http2/run.sh

quotes: build ## The page of `holdfast serve quotes` in Chromium: frames per second, filters, cuts, restarts, gaps; screenshots in reports/
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite quotes Interop/quotes/run.sh

crash-points: build ## The stores of rooms: processes that die at every point of the failure table, full disks, read-only disks (as root)
	@$(NEED) util-linux
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite crash-points Interop/rooms/crash.sh

rooms-browser: build ## The page of `holdfast serve hub` in Chromium: reloads, networks that go, hubs killed with -9; screenshots in reports/
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite rooms-browser Interop/rooms/browser.sh

abuse: build ## Bad input to a live hub and a live router: mutated frames, forged numbers, tokens, floods, readers that do not read
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite abuse Interop/rooms/abuse.sh
	@HOLDFAST=$(BIN)/holdfast $(TALLY) suite abuse-wamp Interop/wamp/abuse.sh

chaos-share: build
	@HOLDFAST=$(BIN)/holdfast HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite chaos Interop/rooms/chaos.sh share

chaos: build ## Hub and clients killed with -9 dozens of times, links cut, disks full: a checker judges the histories (minutes)
	@HOLDFAST=$(BIN)/holdfast HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite chaos Interop/rooms/chaos.sh

board: build ## The sample of "Your own protocol": 4,000 posts to a board in Python that cuts 1,000 connections
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite board Interop/board/run.sh

survive-share: build
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite survive Interop/survive/run.sh share

survive: build ## 1,000 cuts against real servers, which are also killed and frozen; 10,000 connections opened and closed (minutes)
	@HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY) suite survive Interop/survive/run.sh

conformance: ## Autobahn, all 517 cases in both roles, in the clear and over TLS, with a release build (about 40 minutes)
	@$(TALLY) suite conformance Conformance/run.sh all

fuzz: ## Fuzz for FUZZ_SECONDS (60) on each target
	@$(NEED)
	@$(PINNED)
	@$(TALLY) suite fuzz Fuzz/run.sh $(FUZZ_SECONDS)

soak: ## What takes long: ten minutes of fuzzing on each target, and all of Autobahn
	@$(MAKE) fuzz FUZZ_SECONDS=600
	@$(MAKE) conformance

sanitize: ## Unit tests under Thread Sanitizer and under Address Sanitizer
	@$(NEED)
	@$(PINNED)
	@$(TALLY) suite sanitize Fuzz/sanitize.sh

bench-quick: ## Instructions and allocations per message, beside Benchmarks/thresholds.json (builds a small program first)
	@$(TALLY) suite bench-quick Benchmarks/quick.sh

footprint: ## What an app that takes Holdfast fetches, builds and ships, with and without SwiftNIO, beside bare SwiftNIO and C, of the last commit (LEAN=1: without what the programs do not use)
	@$(TALLY) suite footprint Benchmarks/footprint/run.sh $(if $(LEAN),--lean)

footprint-share:
	@$(TALLY) suite footprint Benchmarks/footprint/run.sh --share

traits: ## The client without SwiftNIO, tested in memory; every library built with only its own trait
	@$(TALLY) suite traits scripts/traits.sh

traits-share:
	@$(TALLY) suite traits scripts/traits.sh share

bench: ## Measure beside all peers; ROW=text runs the rows with it in their name, CHART=docs renews the chart in docs/
	@ROW="$(ROW)" CHART="$(CHART)" Benchmarks/run.sh

bench-codecs: ## What encoding and decoding cost beside Foundation and Python (a release build first)
	@Benchmarks/codecs/run.sh

bench-quotes: ## One feed of quotes read by our client, Node and Python: cost per tick, and a consumer that is slow (builds a release first)
	@Benchmarks/quotes/run.sh

bench-hub: ## The hub beside Mosquitto and python-socketio: stored messages, fan-out, latency, memory (builds a release first)
	@Benchmarks/hub/run.sh

bench-wamp: ## WAMP: our router and client beside Crossbar and autobahn-python, each with each (builds a release first)
	@Benchmarks/wamp/run.sh

format: ## Format all Swift sources in place
	scripts/lint/format.sh --fix

clean: ## Remove what was built and reported
	rm -rf .build reports
