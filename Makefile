# `make` lists the goals. Each sets up what it needs (on Debian, with apt) and needs no network from then on.

SHELL := /bin/bash
BIN := .build/debug
FUZZ_SECONDS ?= 60
# What `make test` runs, two at a time, the longest first.
QUICK := unit tool chaos-share interop-wamp interop-graphql interop-socketio interop-documents doctor conformance-share quotes board survive-share tls proxies codecs http2 interop network
# need PACKAGE…: installs Debian packages that are missing. A Mac has in its SDK what the build needs.
ifeq ($(shell uname -s),Darwin)
NEED := true
else
NEED := need() { source scripts/setup.sh && need_apt git ca-certificates zlib1g-dev libsqlite3-dev "$$@"; }; need
endif
TALLY := scripts/tally
# A suite uses these programs. A suite that does not find them makes a release build, which takes longer than all the others.
TALLY_BUILT := HOLDFAST=$(BIN)/holdfast HOLDFAST_BIN=$(BIN)/HoldfastPeer $(TALLY)
# A fresh clone takes the versions that are pinned, and not the newest that the manifest allows.
PINNED = [ -e Package.resolved ] || $(MAKE) --no-print-directory pins

.PHONY: help demo install docs build pins sbom test test-all unit simulate mutants mutants-rooms board tool network fuzz-short conformance-share interop interop-wamp interop-graphql interop-socketio interop-documents codecs tls proxies doctor http2 quotes rooms-browser crash-points abuse chaos chaos-share survive survive-share lint format bench bench-codecs bench-quick footprint footprint-share traits traits-share bench-quotes bench-hub bench-wamp bench-graphql bench-socketio bench-documents fuzz soak conformance sanitize clean

help:
	@echo "make GOAL, where GOAL is one of"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile

demo: ## Show two people in a room: their link is cut, their hub killed with -9 (builds the tool first; then under 20 s)
	@$(NEED)
	@$(PINNED)
	swift run holdfast demo

PREFIX ?= /usr/local
# Swift marks what is public as in use. In a program nobody else can use it: with these flags the linker leaves out what the program does not.
FRONTEND := -Xswiftc -Xfrontend -Xswiftc
RELEASE := -c release --scratch-path .build/lean $(FRONTEND) -function-sections $(FRONTEND) -internalize-at-link
install: ## Install the tool, stripped, into PREFIX/bin (PREFIX=/usr/local; a release build first)
	@$(NEED) binutils
	@$(PINNED)
	swift build $(RELEASE) --product holdfast
	@mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	@install -m 755 "$$(swift build $(RELEASE) --show-bin-path)/holdfast" "$(DESTDIR)$(PREFIX)/bin/holdfast"
	@strip "$(DESTDIR)$(PREFIX)/bin/holdfast"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/holdfast, $$(du -m "$(DESTDIR)$(PREFIX)/bin/holdfast" | cut -f1) MB"

# Runs suites two at a time, because one alone does not keep two cores busy. They use the existing build: SwiftPM needs minutes to find that nothing has changed.
SUITES := $(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) --keep-going --old-file=build

test: build ## Run all unit tests, simulations, the tool, quick cases of Autobahn, and a round with each real peer (MORE="GOAL…" adds goals)
	+@$(SUITES) $(QUICK) $(MORE)

test-all: build ## Run these and all slow suites (scripts/suites.txt): bugs put into rooms, fuzzing, attacks, crashes, the pages in Chromium, cost
	+@slow=$$(scripts/suites.py all) && $(SUITES) $$slow $(QUICK)

lint: build ## Check format, purity of Core, documentation, dependencies and their pins, snippets, API of iOS 17 and macOS 14
	@$(NEED) python3 binutils
	@scripts/lint/all.sh

docs: build ## Build the documentation of all products as one static site in reports/site (HOSTING_BASE=/path if it is not at its host's root)
	@$(NEED) python3
	@HOSTING_BASE="$(HOSTING_BASE)" scripts/lint/docs.sh
	@scripts/lint/site.sh
	@echo "To read it: python3 -m http.server --bind 127.0.0.1 --directory reports/site"

build: ## Build everything in debug, including tests and snippets
	@$(NEED)
	@$(PINNED)
	@$(TALLY) stage build swift build --build-tests

pins: ## Make SwiftPM use the versions in scripts/pins.json, so that the build uses the tested versions
	@$(NEED) python3
	@scripts/pins.py resolve

sbom: build ## List the components of the tool and its hub, with versions and licences, as CycloneDX, in reports/holdfast.cdx.json
	@$(NEED) python3 binutils
	@mkdir -p reports
	@scripts/sbom.py > reports/holdfast.cdx.json
	@echo "reports/holdfast.cdx.json: $$(grep -c '"bom-ref"' reports/holdfast.cdx.json) components"

unit: build ## Run the unit tests, with a replay of the fuzz corpus
	@$(TALLY) suite unit scripts/unit.sh

simulate: build ## Simulate sessions (RUNS=n, 200), rooms (10,000) and WAMP (200) in bad conditions; SEED=n runs one alone and prints every step
	@SEED="$(SEED)" RUNS="$(RUNS)" swift test --skip-build --disable-xctest --filter SessionSimulationTests
	@SEED="$(SEED)" RUNS="$(or $(RUNS),10000)" swift test --skip-build --disable-xctest --filter RoomsSimulationTests
	@SEED="$(SEED)" RUNS="$(or $(RUNS),200)" swift test --skip-build --disable-xctest --filter WAMPSimulationTests

mutants: mutants-rooms ## Put bugs into the rules, and into the hub's store, one by one: the tests must detect each (an hour and a half)
	@$(NEED)
	@for part in session stream protocol graphql socketio documents wamp hub store; do $(TALLY) suite mutants-$$part scripts/mutants/run.sh $$part || status=1; done; exit $${status:-0}

mutants-rooms:
	@$(NEED)
	@$(TALLY) suite mutants-rooms scripts/mutants/rooms/run.sh

tool: build ## Test the command-line tool as people and scripts run it
	@$(NEED) python3 openssl
	@$(TALLY_BUILT) suite tool scripts/test-tool.sh

network: build ## Test interfaces that come and go, in a separate network namespace (Linux, as root)
	@$(NEED) iproute2 util-linux
	@$(TALLY_BUILT) suite network scripts/test-network.sh

fuzz-short:
	@$(NEED)
	@$(PINNED)
	@$(TALLY) suite fuzz Fuzz/run.sh 5

conformance-share: build
	@$(TALLY_BUILT) suite conformance Conformance/run.sh share

interop: build ## Test with Node ws, Python websockets, websocketd, nginx with TLS and Chromium
	@$(TALLY_BUILT) suite interop Interop/run.sh

interop-wamp: build ## Test WAMP with Crossbar, autobahn-python and xconn: every method, both directions, routers killed with -9
	@$(TALLY_BUILT) suite interop-wamp Interop/wamp/run.sh

interop-graphql: build ## Test GraphQL with Strawberry and Ariadne: both protocols, every habit of servers, 200 cuts, servers killed with -9
	@$(TALLY_BUILT) suite interop-graphql Interop/graphql/run.sh

interop-socketio: build ## Test Socket.IO with python-socketio: namespaces, acknowledgements, bytes, refusals, 200 cuts, servers killed with -9
	@$(TALLY_BUILT) suite interop-socketio Interop/socketio/run.sh

interop-documents: build ## Test shared documents against Yjs: 300 random programs of several clients, in both directions
	@$(TALLY_BUILT) suite interop-documents Interop/documents/run.sh

codecs: build ## Compare MessagePack, CBOR, JSON and the frames of rooms with Python's, in both directions
	@$(TALLY_BUILT) suite codecs Interop/codecs/run.sh
	@$(TALLY_BUILT) suite room-frames Interop/rooms/frames.sh

tls: build ## Test TLS with nginx, Python and Go: versions, chains, names, dates, pins and client certificates, good and bad
	@$(TALLY_BUILT) suite tls Interop/tls/run.sh

proxies: build ## Test through tinyproxy, squid, microsocks and dante, and nginx with a password and with cookies
	@$(TALLY_BUILT) suite proxies Interop/proxies/run.sh
	@$(TALLY_BUILT) suite guards Interop/guards/run.sh

doctor: build ## Let `holdfast doctor` examine real servers, broken ones, and addresses without a server
	@$(TALLY_BUILT) suite doctor Interop/doctor/run.sh

http2: build ## Test WebSockets over HTTP/2 with hypercorn, HAProxy and Chromium
	@$(TALLY_BUILT) suite http2 Interop/http2/run.sh

quotes: build ## Test the page of `holdfast serve quotes` in Chromium: frames per second, filters, cuts, restarts, gaps; screenshots in reports/
	@$(TALLY_BUILT) suite quotes Interop/quotes/run.sh

crash-points: build ## Test the stores of rooms: processes that die at every point of the failure table, full disks, read-only disks (as root)
	@$(NEED) util-linux
	@$(TALLY_BUILT) suite crash-points Interop/rooms/crash.sh

rooms-browser: build ## Test the page of `holdfast serve hub` in Chromium: reloads, lost networks, hubs killed with -9; screenshots in reports/
	@$(TALLY_BUILT) suite rooms-browser Interop/rooms/browser.sh

abuse: build ## Send bad input to a live hub and a live router: mutated frames, forged numbers, tokens, floods, readers that do not read
	@$(TALLY_BUILT) suite abuse Interop/rooms/abuse.sh
	@$(TALLY_BUILT) suite abuse-wamp Interop/wamp/abuse.sh

chaos-share: build
	@$(TALLY_BUILT) suite chaos Interop/rooms/chaos.sh share

chaos: build ## Kill hub and clients with -9 dozens of times, cut links, fill disks: a checker judges the histories (minutes)
	@$(TALLY_BUILT) suite chaos Interop/rooms/chaos.sh

board: build ## Run the sample of "Your own protocol": 4,000 posts to a board in Python that cuts 1,000 connections
	@$(TALLY_BUILT) suite board Interop/board/run.sh

survive-share: build
	@$(TALLY_BUILT) suite survive Interop/survive/run.sh share

survive: build ## Cut 1,000 connections to real servers, which are also killed and frozen; open and close 10,000 connections (minutes)
	@$(TALLY_BUILT) suite survive Interop/survive/run.sh

conformance: ## Run Autobahn, all 517 cases in both roles, in the clear and over TLS, with a release build (about 40 minutes)
	@$(TALLY) suite conformance Conformance/run.sh all

fuzz: ## Fuzz for FUZZ_SECONDS (60) on each target
	@$(NEED)
	@$(PINNED)
	@$(TALLY) suite fuzz Fuzz/run.sh $(FUZZ_SECONDS)

soak: ## Run the long tests: ten minutes of fuzzing on each target, and all of Autobahn
	@$(MAKE) fuzz FUZZ_SECONDS=600
	@$(MAKE) conformance

sanitize: ## Run the unit tests under Thread Sanitizer and under Address Sanitizer
	@$(NEED)
	@$(PINNED)
	@$(TALLY) suite sanitize Fuzz/sanitize.sh

bench-quick: ## Compare instructions and allocations per message with Benchmarks/thresholds.json (builds a small program first)
	@$(TALLY) suite bench-quick Benchmarks/quick.sh

footprint: ## Measure what an app with Holdfast fetches, builds and ships, with and without SwiftNIO, compared with bare SwiftNIO and C, for the last commit (LEAN=1: without unused code)
	@$(TALLY) suite footprint Benchmarks/footprint/run.sh $(if $(LEAN),--lean)

footprint-share:
	@$(TALLY) suite footprint Benchmarks/footprint/run.sh --share

traits: ## Test the client without SwiftNIO, in memory; build every library with only its own trait
	@$(TALLY) suite traits scripts/traits.sh

traits-share:
	@$(TALLY) suite traits scripts/traits.sh share

bench: ## Benchmark with all peers; ROW=text runs the rows with this text in their name, CHART=docs renews the chart in docs/
	@ROW="$(ROW)" CHART="$(CHART)" Benchmarks/run.sh

bench-codecs: ## Compare the cost of encoding and decoding with Foundation and Python (a release build first)
	@Benchmarks/codecs/run.sh

bench-quotes: ## Compare our client, Node and Python on one feed of quotes: cost per tick, and a slow consumer (a release build first)
	@Benchmarks/quotes/run.sh

bench-hub: ## Compare the hub with Mosquitto and python-socketio: stored messages, fan-out, latency, memory (a release build first)
	@Benchmarks/hub/run.sh

bench-wamp: ## Compare our WAMP router and client with Crossbar and autobahn-python, in all combinations (a release build first)
	@Benchmarks/wamp/run.sh

bench-graphql: ## Compare our GraphQL client with the Python client gql: processor time per event (a release build first)
	@Benchmarks/graphql/run.sh

bench-socketio: ## Compare our Socket.IO client with that of python-socketio: processor time per event and acknowledgement (a release build first)
	@Benchmarks/socketio/run.sh

bench-documents: ## Compare our shared documents with Yjs and yrs on recorded editing: processor time and memory (a release build first)
	@Benchmarks/documents/run.sh

format: ## Format all Swift sources in place
	scripts/lint/format.sh --fix

clean: ## Remove build products and reports
	rm -rf .build reports
