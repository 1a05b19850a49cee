"""The kinds of work, and the resulting cost of a message, a round trip or a connection."""

from collections.abc import Callable
from dataclasses import dataclass

from .processes import Failure, Server, result_of
from .programs import C_ECHO, C_SERVER, CLIENTS, PROGRAMS, SERVERS
from .settings import LOAD_CORE, MEASURED_CORE, RESULTS, SECONDS

# Extra seconds for slow runtimes and busy machines.
PATIENCE = 30

Figures = dict[str, float]


def per_message(result: dict[str, float]) -> Figures:
    """Nanoseconds of processor time, messages per second, and latencies if measured."""
    figures = {"cpu": result["cpu"] * 1e9 / result["messages"], "rate": result["messages"] / result["seconds"]}
    return figures | {name: result[name] for name in ("p50", "p99") if name in result}


class Servers:
    """The servers of a row, each started at its first use."""

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}

    def get(self, name: str, *arguments, **options) -> Server:
        if name not in self._running:
            self._running[name] = Server(name, *arguments, **options)
        return self._running[name]

    def stop(self, name: str) -> None:
        if name in self._running:
            self._running.pop(name).stop()

    def stop_all(self) -> None:
        for name in list(self._running):
            self.stop(name)


@dataclass(frozen=True)
class Echo:
    """A server echoes the messages of `load`."""

    connections: int
    depth: int
    size: int
    compressed: bool = False

    def run(self, name: str, servers: Servers) -> Figures:
        program = SERVERS[name]
        server = servers.get(name, program, environment={"DEFLATE": "1"} if self.compressed else None)
        wire = "deflate" if self.compressed else program.wire
        words = [PROGRAMS / "load", server.port, server.pid, self.connections, self.depth, self.size, SECONDS, wire]
        return per_message(result_of(LOAD_CORE, list(map(str, words)), SECONDS * 1.5 + PATIENCE))


@dataclass(frozen=True)
class Zlib:
    """zlib alone does the work of a compressed echo."""

    connections: int
    depth: int
    size: int

    def run(self, name: str, servers: Servers) -> Figures:
        words = [PROGRAMS / "zlib", self.connections, self.depth, self.size, SECONDS]
        return per_message(result_of(MEASURED_CORE, list(map(str, words)), SECONDS * 1.5 + PATIENCE))


# The number of messages for each client that takes about SECONDS, from a first run.
_counts: dict[tuple[str, str, int], int] = {}


@dataclass(frozen=True)
class Client:
    """A client exchanges messages with the C server. A client without WebSocket uses the C echo."""

    mode: str
    size: int

    def run(self, name: str, servers: Servers) -> Figures:
        program = CLIENTS[name]
        missing = program.missing()
        if missing:
            raise Failure(f"not there: {missing.rsplit('/', 1)[-1]}")
        opposite, opposite_name = (C_ECHO, "raw TCP in C") if program.wire == "raw" else (C_SERVER, "WebSocket in C")
        server = servers.get(opposite_name, opposite, core=LOAD_CORE)

        def run(count: int) -> dict[str, float]:
            words = [*program.words, self.mode, server.port, self.size, count]
            return result_of(MEASURED_CORE, list(map(str, words)), SECONDS * 5 + PATIENCE)

        key = (name, self.mode, self.size)
        if key not in _counts:
            _counts[key] = self._count_for(run)
        return per_message(run(_counts[key]))

    def _count_for(self, run: Callable[[int], dict[str, float]]) -> int:
        """Increases the number of messages until the time is long enough to measure."""
        count = 1000 if self.mode == "ping" else max(20, min(20_000, 50_000_000 // self.size))
        while (seconds := run(count)["seconds"]) < SECONDS / 10:
            count *= 10
        return max(100, int(count * SECONDS / seconds))


@dataclass(frozen=True)
class Idle:
    """A server holds idle connections."""

    connections: int
    tls: bool = False

    def run(self, name: str, servers: Servers) -> Figures:
        program = SERVERS[name]
        environment = {"TLS_CERT": str(RESULTS / "tls.crt"), "TLS_KEY": str(RESULTS / "tls.key")} if self.tls else None
        servers.stop(name)  # memory left by earlier connections would hide the cost of these
        server = servers.get(name, program, environment=environment)
        words = [PROGRAMS / "idle", server.port, server.pid, self.connections, "tls" if self.tls else program.wire]
        try:
            result = result_of(LOAD_CORE, list(map(str, words)), 2 * PATIENCE)
        finally:
            servers.stop(name)
        return {"bytes": result["bytes"], "resident": result["resident"]}


@dataclass(frozen=True)
class Accept:
    """A server accepts connections that end after their handshake.

    The rate is handshakes per second of the server's processor time: its rate with an infinitely fast load.
    """

    at_once: int

    def run(self, name: str, servers: Servers) -> Figures:
        server = servers.get(name, SERVERS[name])
        words = [PROGRAMS / "accept", server.port, server.pid, self.at_once, SECONDS]
        result = result_of(LOAD_CORE, list(map(str, words)), SECONDS * 1.5 + PATIENCE)
        return {"rate": result["messages"] / result["cpu"]}


Work = Echo | Zlib | Client | Idle | Accept
