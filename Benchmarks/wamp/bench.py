#!/usr/bin/env python3
"""Each router with each client alternately. Prints a table and writes everything to reports/bench-wamp.json.

    bench.py HOLDFAST REPORTS      called by run.sh

Messages are MessagePack everywhere. Ends with 1 if a goal is missed, or a run failed.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = os.environ.get("SECONDS_EACH", "3")
PATIENCE = 120
HERE = pathlib.Path(__file__).parent
INTEROP = HERE.parents[1] / "Interop" / "wamp"
TICKS = os.sysconf("SC_CLK_TCK")
ROUTERS, CLIENTS = ("holdfast", "crossbar"), ("holdfast", "autobahn")
# Work: the client's arguments, the name of one unit, and the clients that do it.
FLOOD = "events, 1 to 100 bare clients"
WORKS = {
    "calls, 64 at once": (["calls", "64"], "call", CLIENTS),
    "events, 1 to 1": (["events", "1"], "event", CLIENTS),
    "events, 1 to 100": (["events", "100"], "event", CLIENTS),
    # Clients with minimal cost, so that the router has as much work as possible.
    FLOOD: (["flood", "100"], "event", CLIENTS[:1]),
}
# The comparisons: the routers with our client, the clients at our router.
PAIRS = {"router": (("holdfast", "holdfast"), ("crossbar", "holdfast")), "client": (("holdfast", "holdfast"), ("holdfast", "autobahn"))}
# The pair, the work, the figure, and the ratio that is our goal.
GOALS = (("router", FLOOD, "per_second", 20), ("client", "calls, 64 at once", "client_us", 10))
# The router and its clients have one core each, so that neither waits for the other's threads. With a single core they share it.
ALL_CORES = sorted(os.sched_getaffinity(0))
ROUTER_CORE, CLIENT_CORE = {ALL_CORES[0]}, {ALL_CORES[-1]}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processor_time(group: int) -> float:
    """Seconds of processor time of all processes of a group, without those that ended."""
    ticks = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


@contextlib.contextmanager
def started_on(core: set[int]):
    """Programs that are started here, and their children, run only on this core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Router:
    """A router in its own folder, the leader of its own process group."""

    def __init__(self, name: str, holdfast: str) -> None:
        self.name, self.folder, port = name, pathlib.Path(tempfile.mkdtemp(prefix=f"bench-wamp-{name}-")), free_port()
        self.url = f"ws://127.0.0.1:{port}/{'ws' if name == 'holdfast' else 'msgpack'}"
        with started_on(ROUTER_CORE):
            self.group = self.start(holdfast, port)
        self.wait(port)

    def start(self, holdfast: str, port: int) -> int:
        if self.name == "holdfast":
            with open(self.folder / "log", "w") as log:
                command = [holdfast, "wamp", "router", str(port)]
                self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            return self.process.pid
        subprocess.run([sys.executable, INTEROP / "crossbar_config.py", self.folder, str(port)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([INTEROP / "crossbar.sh", "start", self.folder], check=True)
        return int((self.folder / "pid").read_text())

    def wait(self, port: int) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            time.sleep(0.05)
        self.stop()
        raise SystemExit(f"error: {self.name} does not listen")

    def stop(self) -> None:
        if self.name == "holdfast":
            self.process.terminate()
            self.process.wait(timeout=20)
        else:
            subprocess.run([INTEROP / "crossbar.sh", "kill", self.folder], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def drive(holdfast: str, client: str, router: Router, work: list[str]) -> dict:
    program = [holdfast, "wamp"] if client == "holdfast" else [sys.executable, str(HERE / "client.py")]
    command = [*program, work[0], router.url, "realm1", SECONDS, work[1]]
    marks, figures = {}, None
    with tempfile.TemporaryFile("w+") as errors:
        with started_on(CLIENT_CORE):
            run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        guard = threading.Timer(PATIENCE, run.kill)
        guard.start()
        for line in run.stdout:
            if line in ("start\n", "end\n"):
                marks[line.strip()] = {"router": processor_time(router.group), "client": processor_time(run.pid)}
            else:
                figures = json.loads(line)
        run.wait()
        guard.cancel()
        errors.seek(0)
        if run.returncode != 0 or figures is None or len(marks) != 2:
            return {"failed": f"status {run.returncode}: {errors.read().strip()[-300:]}"}
    spent = {side: marks["end"][side] - marks["start"][side] for side in marks["end"]}
    costs = {f"{side}_us": round(1e6 * seconds / figures["count"], 3) for side, seconds in spent.items()}
    return {"per_second": round(figures["count"] / figures["seconds"], 1)} | costs | {key: round(figures[key], 3) for key in ("p50_ms", "p99_ms")}


def measure(holdfast: str) -> dict:
    """All runs, by work, router and client."""
    runs: dict = {work: {f"{router}/{client}": [] for router in ROUTERS for client in clients} for work, (_, _, clients) in WORKS.items()}
    for number in range(ROUNDS):
        for name in ROUTERS if number % 2 == 0 else reversed(ROUTERS):
            router = Router(name, holdfast)
            try:
                for work, (order, _, clients) in WORKS.items():
                    for client in clients:
                        runs[work][f"{name}/{client}"].append(drive(holdfast, client, router, order))
                        print(f"round {number + 1}: {work}: {name}/{client}: {runs[work][f'{name}/{client}'][-1]}", file=sys.stderr, flush=True)
            finally:
                router.stop()
    return runs


def median(runs: list[dict], figure: str) -> float | None:
    values = [run[figure] for run in runs if figure in run]
    return statistics.median(values) if values else None


def ratio(runs: dict, work: str, pair: str, figure: str) -> float | None:
    """The ratio of the rates, the median of the rounds' ratios. Of processor time if not all of it is used."""
    ours, theirs = ("/".join(side) for side in PAIRS[pair])
    both = zip(runs[work].get(ours, []), runs[work].get(theirs, []))
    ratios = [other[figure] / one[figure] for one, other in both if one.get(figure) and other.get(figure)]
    if not ratios:
        return None
    return round(statistics.median(1 / ratio if figure == "per_second" else ratio for ratio in ratios), 2)


def show(runs: dict) -> dict:
    table = {}
    columns = [f"{router}/{client}" for router in ROUTERS for client in CLIENTS]
    print(f"{'router/client':80}", *(f"{column:>18}" for column in columns), f"{'times theirs':>13}")
    for work, (_, unit, _) in WORKS.items():
        rows = {
            f"{work}, per second": "per_second",
            f"{work}, router's processor per {unit}, µs": "router_us",
            f"{work}, client's processor per {unit}, µs": "client_us",
            f"{work}, one after the other, p50, ms": "p50_ms",
            f"{work}, one after the other, p99, ms": "p99_ms",
        }
        for row, figure in rows.items():
            values = {column: median(runs[work][column], figure) for column in columns if column in runs[work]}
            cells = ["" if column not in values else "failed" if values[column] is None else f"{values[column]:,.6g}" for column in columns]
            pair = "router" if figure == "router_us" or (work == FLOOD and figure == "per_second") else "client" if figure == "client_us" else None
            times = ratio(runs, work, pair, figure) if pair else None
            table[row] = values | {"times": times}
            print(f"{row:80}", *(f"{cell:>18}" for cell in cells), f"{times or '':>13}")
    print("times theirs: what our router does in the time, or processor time, of Crossbar, both with our client;")
    print("              what our client does in that of autobahn-python, both at our router")
    return table


def main() -> int:
    holdfast, reports = sys.argv[1:]
    before = os.getloadavg()[0]
    runs = measure(holdfast)
    table = show(runs)
    reached = {(pair, work): ratio(runs, work, pair, figure) for pair, work, figure, _ in GOALS}
    missed = [f"{pair}: {work}: {reached[pair, work]} times, wanted {times}" for pair, work, _, times in GOALS if (reached[pair, work] or 0) < times]
    failed = sum("failed" in run for work in runs.values() for some in work.values() for run in some)
    pathlib.Path(reports).mkdir(exist_ok=True)
    report = {"cores": os.cpu_count(), "load_before": before, "rounds": ROUNDS, "seconds": float(SECONDS), "table": table, "missed": missed, "runs": runs}
    (pathlib.Path(reports) / "bench-wamp.json").write_text(json.dumps(report, indent=2) + "\n")
    for words in missed:
        print(f"goal missed: {words}")
    print(f"load before: {before:.1f}; failed runs: {failed}; goals missed: {len(missed)}; all runs: {reports}/bench-wamp.json")
    return 1 if failed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
