"""The table. Each row is one work for our programs and their peers, with the ratio that is our goal.

A goal of 4 means: at least 4 times better than that peer. None means: shown without a goal.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from .work import Accept, Client, Echo, Idle, Work, Zlib

Goal = float | None | Callable[[float], float]
"""A ratio, or a function of the peer's figure."""


@dataclass(frozen=True)
class Row:
    name: str
    work: Work
    goals: dict[str, dict[str, Goal]]
    """The goals of each of our programs, by peer."""
    measures: tuple[str, ...] = ("cpu",)
    also: tuple[str, ...] = ()
    """Programs that are shown without a ratio."""
    other_work: dict[str, Work] = field(default_factory=dict)
    """Programs of this row with another work."""
    sums: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A peer whose figure is the sum of two programs."""

    def programs(self) -> list[str]:
        """All programs once, ours first."""
        peers = [peer for goals in self.goals.values() for peer in goals if peer not in self.sums]
        parts = [part for parts in self.sums.values() for part in parts]
        return list(dict.fromkeys([*self.goals, *peers, *parts, *self.also]))

    def work_of(self, program: str) -> Work:
        return self.other_work.get(program, self.work)


def at_most_more(extra: float) -> Goal:
    """Our figure may be larger than the peer's by `extra`."""
    return lambda reference: reference / (reference + extra)


WITHIN_10_PERCENT = 1 / 1.10
WITHIN_15_PERCENT = 1 / 1.15

BARE, INLINE, POOL, BATCHES = "bare NIO", "Holdfast inline", "Holdfast on the pool", "Holdfast in batches"
SMALL_ECHO: dict[str, dict[str, Goal]] = {
    "Holdfast": {
        BARE: 0.75, "websocketpp": 1.6, "NIOWebSocket": 4, "libwebsockets": 4, "Beast": 6, "picows": 6, "Node ws": 9, "FlyingFox": 15,
    },
    INLINE: {BARE: 0.95},
    POOL: {BARE: None},
}  # fmt: skip
LARGE_ECHO: dict[str, dict[str, Goal]] = {
    "Holdfast": {BARE: 0.8, "Beast": 1.0, "picows": 1.0},
    INLINE: {BARE: 0.8, "Beast": 1.0, "picows": 1.0},
    POOL: {BARE: None},
}
REST = ("raw TCP in C", "WebSocket in C", "websocketpp", "libwebsockets", "NIOWebSocket", "FlyingFox", "gorilla", "nhooyr", "Node ws",
        "aiohttp", "Python websockets")  # fmt: skip
CLIENT_REST = ("C client", "Beast", "websocketpp", "libwebsockets", "NIOWebSocket", "gorilla", "nhooyr", "Node ws", "aiohttp",
               "Python websockets")  # fmt: skip
LARGE_CLIENT: dict[str, dict[str, Goal]] = {
    "Holdfast": {"C client": 0.6, "Beast": 1.0},
    INLINE: {"C client": 0.6, "Beast": 1.0},
    POOL: {"C client": None},
}

ROWS = [
    Row("server echo 32 B", Echo(64, 16, 32), SMALL_ECHO, also=REST),
    Row("server echo 1 KiB", Echo(64, 16, 1024), SMALL_ECHO, also=REST),
    Row("server echo 64 KiB", Echo(16, 4, 65_536), LARGE_ECHO, also=REST),
    Row("server echo 1 MiB", Echo(4, 2, 1_048_576), LARGE_ECHO, also=REST),
    Row(
        "server latency 32 B", Echo(1, 1, 32),
        {"Holdfast": {BARE: WITHIN_15_PERCENT}, INLINE: {BARE: None}, POOL: {BARE: None}},
        measures=("p50", "p99"), also=("raw TCP in C", "WebSocket in C"),
    ),
    Row(
        "client ping 32 B", Client("ping", 32),
        {"Holdfast": {BARE: WITHIN_15_PERCENT, "picows": 1.0}, INLINE: {BARE: WITHIN_15_PERCENT, "picows": 1.0}, POOL: {BARE: None}},
        also=CLIENT_REST,
    ),
    Row(
        "client receive 64 B", Client("receive", 64),
        {INLINE: {"C client": 0.5}, "Holdfast": {"C client": 0.2, "picows": 8, "NIOWebSocket": 6},
         BATCHES: {"C client": 0.2}, POOL: {"C client": None}},
        also=CLIENT_REST,
    ),
    Row(
        "client send 64 B", Client("send", 64),
        {INLINE: {"C client": 0.6}, "Holdfast": {"C client": 0.25, "picows": 6}, POOL: {"C client": None}}, also=CLIENT_REST,
    ),
    Row("client receive 1 MiB", Client("receive", 1_048_576), LARGE_CLIENT, also=("picows", *CLIENT_REST)),
    Row("client send 1 MiB", Client("send", 1_048_576), LARGE_CLIENT, also=("picows", *CLIENT_REST)),
    Row(
        "server deflate 1 KiB", Echo(16, 16, 1024, compressed=True),
        {"Holdfast": {"zlib's own + plain echo": WITHIN_10_PERCENT, "Node ws": 2}, INLINE: {"zlib's own + plain echo": None}},
        sums={"zlib's own + plain echo": ("zlib's own", "Holdfast uncompressed")},
        other_work={"zlib's own": Zlib(16, 16, 1024), "Holdfast uncompressed": Echo(16, 16, 1024)},
        also=("Beast", "websocketpp", "libwebsockets", "aiohttp", "Python websockets"),
    ),
    Row(
        "idle connection", Idle(10_000),
        {"Holdfast": {BARE: at_most_more(3072)}, INLINE: {BARE: at_most_more(3072)}}, measures=("bytes",), also=("WebSocket in C",),
    ),
    Row("idle connection over TLS", Idle(2000, tls=True), {"Holdfast": {}}, measures=("bytes",)),
    Row(
        "accepted handshakes", Accept(64), {"Holdfast": {"bare NIO accept": 0.8}, INLINE: {"bare NIO accept": None}},
        measures=("rate",), also=("WebSocket in C",),
    ),
]  # fmt: skip
