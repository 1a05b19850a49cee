#!/usr/bin/env python3
"""Runs the Autobahn test suite against our client and our server, and compares the result with expected.json.

Called by run.sh, which sets the environment: HOLDFAST_BIN (our peer), WSTEST, ROOT. See `run.sh` for the arguments.

The suite is slow (one thread of Python 2), mostly waits or compresses, and its cases are independent. So the cases
are divided among several instances of it. As many run at a time as there are cores.
"""
import argparse
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

AGENT = "Holdfast"
HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
REPORTS = pathlib.Path(os.environ.get("REPORTS") or pathlib.Path(os.environ["ROOT"], "reports", "conformance")).resolve()
SLOW_GROUPS = {"9", "12", "13"}
CASES_PER_INSTANCE = 24
# How the WebSocket is carried. With HTTP/2 HAProxy is in between: it uses HTTP/2 with us, and HTTP/1.1 with the suite.
PLAIN, TLS, HTTP2 = "plain", "TLS", "HTTP/2"
QUICK_PER_CARRIED = 8  # of this number of quick cases in a share, one also runs over TLS, and one over HTTP/2
SLOW_PER_CARRIED = 5
SECONDS_PER_SLOW_CASE = 60  # an upper limit, after which an instance is ended
SECONDS_PER_CASE = 12


def group(case):
    return case.split(".")[0]


def in_order(case):
    return [int(part) for part in case.split(".")]


def choose_cases(scope, known):
    """The cases of a scope, by carrier.

    `share` rotates with the number of commits, so that every run tests other cases.
    """
    quick = [case for case in known if group(case) not in SLOW_GROUPS]
    slow = [case for case in known if group(case) in SLOW_GROUPS]
    if scope == "all":
        return {PLAIN: known, TLS: known, HTTP2: quick + slow[::SLOW_PER_CARRIED]}
    if scope == "quick":
        return {PLAIN: quick}
    index, shares = (int(part) for part in (os.environ.get("SHARE") or f"{commit_count()}/12").split("/"))
    chosen = slow[index % shares :: shares]
    carried = {
        carrier: quick[(index + other) % QUICK_PER_CARRIED :: QUICK_PER_CARRIED] + chosen[other::SLOW_PER_CARRIED]
        for other, carrier in enumerate([TLS, HTTP2])
    }
    print(f"share {index % shares} of {shares} of the {len(slow)} slow cases")
    return {PLAIN: quick + chosen, **carried}


def commit_count():
    command = ["git", "-C", str(HERE), "rev-list", "--count", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True)
    return int(result.stdout) if result.returncode == 0 else int(time.time() // 86_400)


def way(role, carrier):
    return role if carrier == PLAIN else f"{role} over {carrier}"


def folder(way):
    return way.replace(" ", "-").replace("/", "")


def deal(cases):
    """Deals the cases in turn, so that neighbouring slow cases run in different instances."""
    instances = max(1, round(len(cases) / CASES_PER_INSTANCE))
    return [cases[index::instances] for index in range(instances)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    name = pathlib.Path(process.args[0]).name
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended at once with status {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{name} does not listen")


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Certificate:
    """A self-signed certificate for localhost, made for this run."""

    def __init__(self, directory):
        self.file, self.key = str(directory / "certificate.pem"), str(directory / "key.pem")
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", self.key, "-out", self.file]
        subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def bridge(directory, target, listening="", connecting=""):
    """Starts a HAProxy that passes WebSockets to the port `target`, with extra options on either side. Returns its port."""
    port = free_port()
    config = directory / "haproxy.cfg"
    # The suite refuses requests with another port in Host.
    config.write_text(
        f"""defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    timeout tunnel 10m
listen bridge
    bind 127.0.0.1:{port} {listening}
    http-request set-header Host 127.0.0.1:{target}
    server there 127.0.0.1:{target} {connecting}
"""
    )
    with open(directory / "haproxy.log", "w") as log:
        process = subprocess.Popen(["haproxy", "-db", "-f", str(config)], stdout=log, stderr=log)
    try:
        wait_for_port(port, process)
        yield port
    finally:
        stop(process)


class Instance:
    """One run of the suite: some cases in one role over one carrier, with a directory for its reports."""

    def __init__(self, role, index, cases, carrier, certificate):
        self.role = role
        self.carrier = carrier
        self.certificate = certificate if carrier == TLS else None
        self.scheme = "wss" if carrier == TLS else "ws"
        self.way = way(role, carrier)
        self.cases = cases
        self.directory = REPORTS / folder(self.way) / f"{index:02}"
        slow = sum(group(case) in SLOW_GROUPS for case in cases)
        self.seconds = 30 + slow * SECONDS_PER_SLOW_CASE + (len(cases) - slow) * SECONDS_PER_CASE

    def start(self, mode, **fields):
        spec = {"outdir": str(self.directory), "cases": self.cases, "exclude-cases": [], "exclude-agent-cases": {}, **fields}
        path = self.directory / "spec.json"
        path.write_text(json.dumps(spec))
        log = open(self.directory / "wstest.log", "w")
        return subprocess.Popen([os.environ["WSTEST"], "-m", mode, "-u", "0", "-s", str(path)], stdout=log, stderr=log, cwd=self.directory)

    def run(self, server_port):
        self.directory.mkdir(parents=True)
        try:
            if self.role == "client":
                self.run_client()
            elif self.carrier == HTTP2:
                with bridge(self.directory, server_port, connecting="proto h2") as port:
                    self.run_server(port)
            else:
                self.run_server(server_port)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{self.way}: {error}; see {self.directory}")
        return self.results()

    def run_client(self):
        port = free_port()
        url = f"{self.scheme}://127.0.0.1:{port}"
        tls = {"cert": self.certificate.file, "key": self.certificate.key} if self.certificate else {}
        suite = self.start("fuzzingserver", url=url, **tls)
        try:
            wait_for_port(port, suite)
            if self.carrier == HTTP2:
                with bridge(self.directory, port, listening="proto h2") as entrance:
                    self.take_all(f"ws://127.0.0.1:{entrance}", "--http2")
            elif self.carrier == TLS:
                self.take_all(url, "--ca", self.certificate.file)
            else:
                self.take_all(url)
        finally:
            stop(suite)

    def take_all(self, url, *options):
        with open(self.directory / "client.log", "w") as log:
            command = [os.environ["HOLDFAST_BIN"], "autobahn-client", url, "--agent", AGENT, *options]
            status = subprocess.run(command, stdout=log, stderr=log, timeout=self.seconds).returncode
            if status != 0:
                raise RuntimeError(f"our client ended with status {status}")

    def run_server(self, server_port):
        suite = self.start("fuzzingclient", servers=[{"agent": AGENT, "url": f"{self.scheme}://127.0.0.1:{server_port}"}])
        try:
            suite.wait(self.seconds)
        finally:
            stop(suite)

    def results(self):
        try:
            report = json.loads((self.directory / "index.json").read_text())[AGENT]
        except (OSError, ValueError, KeyError):
            return {}
        return {case: [entry["behavior"], entry["behaviorClose"]] for case, entry in report.items()}


@contextlib.contextmanager
def alone():
    """Two runs at once would write the same reports, so the second waits. REPORTS=DIRECTORY gives it its own."""
    REPORTS.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{REPORTS}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another run writes to {REPORTS}: waiting for its end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class EchoServer:
    """Our server under test, one process for all instances with the same carrier."""

    def __init__(self, carrier, *options):
        self.carrier = carrier
        self.options = options

    def __enter__(self):
        log = open(REPORTS / f"{folder(way('server', self.carrier))}.log", "w")
        command = [os.environ["HOLDFAST_BIN"], "echo-server", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        said = self.process.stdout.readline()
        match = re.match(r"listening (\d+)", said)
        if not match:
            stop(self.process)
            sys.exit(f"our echo server printed {said!r}, not its port; see {log.name}")
        self.port = int(match[1])
        return self

    def __exit__(self, *_):
        stop(self.process)


def run_all(cases, roles, jobs):
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    certificate = Certificate(REPORTS)
    instances = [
        Instance(role, index, dealt, carrier, certificate)
        for carrier, wanted in cases.items()
        for index, dealt in enumerate(deal(wanted))
        for role in roles
    ]
    instances.sort(key=lambda instance: -instance.seconds)
    results = {(instance.role, instance.carrier): {} for instance in instances}
    options = {PLAIN: [], TLS: ["--tls-cert", certificate.file, "--tls-key", certificate.key], HTTP2: ["--http2"]}
    with contextlib.ExitStack() as stack:
        servers = {carrier: stack.enter_context(EchoServer(carrier, *options[carrier])) for carrier in cases}
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(jobs))
        running = {pool.submit(each.run, servers[each.carrier].port): each for each in instances}
        for done in concurrent.futures.as_completed(running):
            each = running[done]
            results[each.role, each.carrier].update(done.result())
    return results


def report_of(way, case):
    name = f"{AGENT.lower()}_case_{case.replace('.', '_')}.html"
    found = list((REPORTS / folder(way)).glob(f"*/{name}"))
    return f"; see {os.path.relpath(found[0])}" if found else ""


def judge(cases, results, expected):
    """Prints every deviation. Returns the numbers of passed and failed cases. The carrier does not change the expected results."""
    passed = failed = 0
    for (role, carrier), found in results.items():
        for case in cases[carrier]:
            wanted, got = expected[case][role], found.get(case)
            if got == wanted:
                passed += 1
                continue
            failed += 1
            outcome = "behaviour {}, close {}".format(*got) if got else "no result"
            name = way(role, carrier)
            print(f"{name} {case}: {outcome}; expected {wanted[0]}, {wanted[1]}{report_of(name, case)}")
    return passed, failed


def record(results, expected):
    for (role, carrier), found in results.items():
        if carrier == PLAIN:
            for case, outcome in found.items():
                expected[case][role] = outcome
    lines = [f'  "{case}": {json.dumps(expected[case])}' for case in sorted(expected, key=in_order)]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description="Judge Holdfast with the Autobahn test suite.")
    parser.add_argument("scope", nargs="?", default="all", choices=["quick", "share", "all"])
    parser.add_argument("roles", nargs="?", default="both", choices=["client", "server", "both"])
    parser.add_argument("--record", action="store_true", help="write the results to expected.json")
    arguments = parser.parse_args()

    expected = json.loads(EXPECTED.read_text())
    cases = choose_cases(arguments.scope, sorted(expected, key=in_order))
    roles = ["client", "server"] if arguments.roles == "both" else [arguments.roles]
    jobs = int(os.environ.get("JOBS") or 2 * len(os.sched_getaffinity(0)))
    started = time.monotonic()
    with alone():
        results = run_all(cases, roles, jobs)
        passed, failed = judge(cases, results, expected)
    if arguments.record:
        record(results, expected)
    counts = ", ".join(f"{len(chosen)} {'cases' if carrier == PLAIN else f'over {carrier}'}" for carrier, chosen in cases.items())
    print(f"{counts}, {' and '.join(roles)}, {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed and not arguments.record else 0


if __name__ == "__main__":
    sys.exit(main())
