#!/usr/bin/env python3
"""Does the same work against each peer alternately. Prints a table and writes everything to reports/bench-hub.json.

    bench.py HOLDFAST DRIVER REPORTS PEER…      called by run.sh

Ends with 1 if a goal is missed, or a run failed.
"""
import contextlib
import json
import os
import pathlib
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = os.environ.get("SECONDS_EACH", "3")
MEMBERS = os.environ.get("MEMBERS", "1000 10000").split()
ROOMS = ("1", "10", "1000")
IDLE = int(os.environ.get("IDLE", "10000"))
RATE, LISTENERS = "200", "10"
PATIENCE = 300
HERE = pathlib.Path(__file__).parent
MEMORY = f"KiB per idle connection, of {IDLE:,}"


def stored(rooms: str) -> str:
    return f"stored per second, {rooms} room{'s' if rooms != '1' else ''}"


def fan_out(members: str) -> str:
    return f"deliveries per second, 1 to {int(members):,}"


SINGLE = f"{fan_out(MEMBERS[0])}, one by one"
# Work: the arguments of the driver.
WORKS = (
    {stored(rooms): ["stored", rooms, SECONDS] for rooms in ROOMS}
    | {fan_out(members): ["fanout", members, SECONDS] for members in MEMBERS}
    | {SINGLE: ["fanout", MEMBERS[0], SECONDS, "1"]}
    | {"latency": ["latency", LISTENERS, SECONDS, RATE]}
)
# Row: its work, its figure, and whether a higher figure is better.
ROWS = (
    {stored(rooms): (stored(rooms), "acked_per_second", True) for rooms in ROOMS}
    | {fan_out(members): (fan_out(members), "delivered_per_second", True) for members in MEMBERS}
    | {SINGLE: (SINGLE, "delivered_per_second", True)}
    | {f"processor per delivery, 1 to {int(members):,}, µs": (fan_out(members), "us_per_delivery", False) for members in MEMBERS}
    | {f"the same, one by one, 1 to {int(MEMBERS[0]):,}, µs": (SINGLE, "us_per_delivery", False)}
    | {f"submit to deliver, {share}, ms": ("latency", f"{share}_ms", False) for share in ("p50", "p99")}
    | {MEMORY: (MEMORY, "kib", False)}
)  # fmt: skip
# Row: the peer, and the ratio that is our goal.
GOALS = [(fan_out(members), peer, times) for members in MEMBERS for peer, times in (("mosquitto", 1), ("socketio", 10))]
MEMORY_GOAL = 10
# Above this share a commit is mostly the disk's time.
DISK_SHARE = 0.5


class Peer:
    """A server in its own folder."""

    def __init__(self, name: str, holdfast: str) -> None:
        self.name, self.folder = name, pathlib.Path(tempfile.mkdtemp(prefix=f"bench-hub-{name}-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        with open(self.folder / "log", "w") as log:
            self.process = subprocess.Popen(self.command(holdfast), stdout=log, stderr=log, cwd=self.folder)

    def command(self, holdfast: str) -> list[str]:
        if self.name == "holdfast":
            return [holdfast, "hub", str(self.port), str(self.folder / "data")]
        if self.name == "mosquitto":
            settings = self.folder / "mosquitto.conf"
            # Mosquitto saves sessions and messages every half hour by default, so not in these runs, which is to its advantage.
            # The first listener is needed because 2.0.11 does not start with only a WebSocket listener.
            settings.write_text(
                f"listener 0 {self.folder}/socket\nlistener {self.port} 127.0.0.1\nprotocol websockets\nsocket_domain ipv4\n"
                "allow_anonymous true\npersistence true\n"
                f"persistence_location {self.folder}/\nmax_queued_messages 0\nmax_inflight_messages 0\n"
                "websockets_headers_size 4096\nlog_type error\n" + ("user root\n" if os.getuid() == 0 else "")
            )
            return [shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", str(settings)]
        return [sys.executable, str(HERE / "socketio_peer.py"), str(self.port)]

    def __enter__(self) -> "Peer":
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            time.sleep(0.05)
        log = (self.folder / "log").read_text()[-2000:]
        self.__exit__()
        raise SystemExit(f"error: {self.name} does not listen:\n{log}")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def memory(self) -> int:
        """Resident KiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def group(self) -> float:
        """Our hub's messages per commit since its start."""
        time.sleep(1.1)  # The hub updates its figures once a second.
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/status.json", timeout=10) as answer:
            totals = json.load(answer)["totals"]
        return totals["published"] / max(totals["commits"], 1)


def environment(peer: Peer) -> dict[str, str]:
    return os.environ | {"SERVER_PID": str(peer.process.pid)}


def drive(driver: str, peer: Peer, work: list[str]) -> dict:
    command = [driver, peer.name, str(peer.port), *work]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment(peer))
    except subprocess.TimeoutExpired:
        return {"failed": f"no end within {PATIENCE} s"}
    if run.returncode != 0:
        return {"failed": run.stderr.strip()[-300:]}
    result = json.loads(run.stdout)
    if peer.name == "holdfast" and work[0] == "stored":
        group, flushes = peer.group(), flush_rate(peer.folder)
        commits = result["acked_per_second"] / group
        result |= {"group": round(group, 1), "commits_per_second": round(commits, 1), "flushes_per_second": round(flushes, 1)}
        # Each commit waits for one flush.
        result["disk_share"] = round(commits / flushes, 3)
    return result


def idle(driver: str, peer: Peer) -> dict:
    # One-time allocations at the first connections do not count.
    resident = {}
    for count in (100, IDLE):
        command = [driver, peer.name, str(peer.port), "idle", str(count)]
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.stdout.readline().strip() != "ready":
            run.wait()
            return {"failed": run.stderr.read().strip()[-300:]}
        time.sleep(2)
        resident[count] = peer.memory()
        run.communicate("", timeout=60)
        time.sleep(1)
    return {"kib": round((resident[IDLE] - resident[100]) / (IDLE - 100), 2)}


def flush_rate(folder: pathlib.Path) -> float:
    """How often a second this disk makes 32 KiB durable, the size of a commit of some hundred messages."""
    with open(folder / "flush", "wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        count, start = 0, time.monotonic()
        while time.monotonic() < start + 0.5:
            os.pwrite(file.fileno(), b"x" * (32 << 10), count % 32 * (32 << 10))
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - start)


def measure(holdfast: str, driver: str, peers: list[str]) -> dict[str, dict[str, list[dict]]]:
    """All runs, by work and peer."""
    runs: dict[str, dict[str, list[dict]]] = {work: {peer: [] for peer in peers} for work in [*WORKS, MEMORY]}
    for number in range(ROUNDS):
        for name, work in WORKS.items():
            for peer in peers if number % 2 == 0 else reversed(peers):
                with Peer(peer, holdfast) as server:
                    runs[name][peer].append(drive(driver, server, work))
                print(f"round {number + 1}: {name}: {peer}: {runs[name][peer][-1]}", file=sys.stderr, flush=True)
    for peer in peers:
        with Peer(peer, holdfast) as server:
            runs[MEMORY][peer].append(idle(driver, server))
        print(f"{MEMORY}: {peer}: {runs[MEMORY][peer][-1]}", file=sys.stderr, flush=True)
    return runs


def summarise(runs: dict[str, dict[str, list[dict]]]) -> dict[str, dict[str, dict]]:
    """Per row and peer the median, and the median of the rounds' ratios. Above 1 we are better."""
    table: dict[str, dict[str, dict]] = {}
    for row, (work, figure, is_more_better) in ROWS.items():
        values = {peer: [run.get(figure) for run in rounds] for peer, rounds in runs[work].items()}
        table[row] = {}
        for peer, figures in values.items():
            good = [value for value in figures if value is not None]
            cell = {"median": statistics.median(good) if good else None}
            pairs = [(ours, theirs) for ours, theirs in zip(values.get("holdfast", []), figures) if ours and theirs]
            if pairs and peer != "holdfast":
                ratios = [ours / theirs if is_more_better else theirs / ours for ours, theirs in pairs]
                cell["ratio"] = round(statistics.median(ratios), 2)
            table[row][peer] = cell
    return table


def show(table: dict[str, dict[str, dict]], peers: list[str]) -> None:
    others = [peer for peer in peers if peer != "holdfast"]
    print(f"{'':40}", *(f"{peer:>12}" for peer in peers), *(f"{'to ' + peer:>13}" for peer in others))
    for row, cells in table.items():
        medians = ["failed" if cells[peer]["median"] is None else f"{cells[peer]['median']:,.6g}" for peer in peers]
        ratios = [str(cells[peer].get("ratio", "")) for peer in others]
        print(f"{row:40}", *(f"{text:>12}" for text in medians), *(f"{text:>13}" for text in ratios))
    print("to PEER: how many times better our hub is, the median of the rounds; below 1 it is worse")


def limits(runs: dict[str, dict[str, list[dict]]]) -> dict[str, dict]:
    """What limited the stored messages of our hub."""
    bounds = {}
    for rooms in ROOMS:
        good = [run for run in runs[stored(rooms)].get("holdfast", []) if "group" in run]
        if not good:
            continue
        figures = ("group", "commits_per_second", "flushes_per_second", "disk_share")
        bound = {figure: statistics.median(run[figure] for run in good) for figure in figures}
        bound["bound"] = "the disk" if bound["disk_share"] >= DISK_SHARE else "the code"
        bounds[stored(rooms)] = bound
        print(
            f"{stored(rooms)}: {bound['group']:,.1f} a commit, {bound['commits_per_second']:,.0f} commits a second; the disk flushes"
            f" {bound['flushes_per_second']:,.0f} times a second ({bound['disk_share']:.0%} used): bound by {bound['bound']}"
        )
    return bounds


def missed(table: dict[str, dict[str, dict]], peers: list[str]) -> list[str]:
    """The missed goals."""
    if "holdfast" not in peers:
        return []
    words = []
    for row, peer, times in GOALS:
        ratio = table[row].get(peer, {}).get("ratio")
        if peer in peers and (ratio is None or ratio < times):
            words.append(f"{row}: {ratio} times {peer}, wanted {times}")
    kib = table[MEMORY]["holdfast"]["median"]
    if kib is None or kib >= MEMORY_GOAL:
        words.append(f"{MEMORY}: {kib}, wanted less than {MEMORY_GOAL}")
    return words


def main() -> int:
    holdfast, driver, reports, *peers = sys.argv[1:]
    before = os.getloadavg()[0]
    runs = measure(holdfast, driver, peers)
    table = summarise(runs)
    show(table, peers)
    bounds, goals = limits(runs), missed(table, peers)
    failed = [run for row in runs.values() for rounds in row.values() for run in rounds if "failed" in run]
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load_before": before}
    report = {
        "machine": machine, "rounds": ROUNDS, "seconds": float(SECONDS), "table": table, "bounds": bounds, "missed": goals, "runs": runs,
    }  # fmt: skip
    pathlib.Path(reports).mkdir(exist_ok=True)
    (pathlib.Path(reports) / "bench-hub.json").write_text(json.dumps(report, indent=2) + "\n")
    for words in goals:
        print(f"goal missed: {words}")
    print(f"load before: {before:.1f}; failed runs: {len(failed)}; goals missed: {len(goals)}; all runs: {reports}/bench-hub.json")
    return 1 if failed or goals else 0


if __name__ == "__main__":
    sys.exit(main())
