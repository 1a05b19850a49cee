"""Every measured program by its name in the table, and its command; see `../peers/README.md`."""

import pathlib
from dataclasses import dataclass

from .settings import PROGRAMS, ROOT, SWIFT_PROGRAMS


@dataclass(frozen=True)
class Program:
    """A server gets its port after these words; a client gets mode, port, size and count."""

    words: tuple[str, ...]
    wire: str = "ws"
    """The protocol: `raw` is bytes without WebSocket, `upgraded` is bytes after a handshake, `ws` is WebSocket."""

    def missing(self) -> str | None:
        """The missing file, if any."""
        return next((word for word in self.words if word.startswith("/") and not pathlib.Path(word).exists()), None)


def _native(name: str, wire: str = "ws") -> Program:
    return Program((str(PROGRAMS / name),), wire)


def _swift(name: str, *words: str, wire: str = "ws") -> Program:
    return Program((str(SWIFT_PROGRAMS / name), *words), wire)


def _node(script: str) -> Program:
    return Program(("node", str(ROOT / "Benchmarks/peers/node" / script)))


def _python(script: str) -> Program:
    return Program((str(PROGRAMS / "python/bin/python"), str(ROOT / "Benchmarks/peers/python" / script)))


C_SERVER = _native("server")
C_ECHO = _native("echo", "raw")

SERVERS = {
    "Holdfast": _swift("HoldfastBench", "echo"),
    "Holdfast on the pool": _swift("HoldfastBench", "echo-pool"),
    "Holdfast inline": _swift("HoldfastBench", "echo-inline"),
    "Holdfast uncompressed": _swift("HoldfastBench", "echo"),
    "bare NIO": _swift("NIOBytes", "echo", wire="raw"),
    "bare NIO accept": _swift("NIOBytes", "accept", wire="upgraded"),
    "NIOWebSocket": _swift("NIOWebSocketPeer", "server"),
    "FlyingFox": _swift("FlyingFoxPeer"),
    "raw TCP in C": C_ECHO,
    "WebSocket in C": C_SERVER,
    "Beast": _native("beast-server"),
    "websocketpp": _native("websocketpp-server"),
    "libwebsockets": _native("libwebsockets-server"),
    "gorilla": _native("gorilla-server"),
    "nhooyr": _native("nhooyr-server"),
    "Node ws": _node("server.js"),
    "picows": _python("picows_server.py"),
    "aiohttp": _python("aiohttp_server.py"),
    "Python websockets": _python("websockets_server.py"),
}

CLIENTS = {
    "Holdfast": _swift("HoldfastBench", "client"),
    "Holdfast on the pool": _swift("HoldfastBench", "client-pool"),
    "Holdfast in batches": _swift("HoldfastBench", "client-batches"),
    "Holdfast inline": _swift("HoldfastBench", "client-inline"),
    "bare NIO": _swift("NIOBytes", wire="raw"),
    "NIOWebSocket": _swift("NIOWebSocketPeer", "client"),
    "C client": _native("client"),
    "Beast": _native("beast-client"),
    "websocketpp": _native("websocketpp-client"),
    "libwebsockets": _native("libwebsockets-client"),
    "gorilla": _native("gorilla-client"),
    "nhooyr": _native("nhooyr-client"),
    "Node ws": _node("client.js"),
    "picows": _python("picows_client.py"),
    "aiohttp": _python("aiohttp_client.py"),
    "Python websockets": _python("websockets_client.py"),
}
