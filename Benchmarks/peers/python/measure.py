"""Shared by the clients: the command line, the clocks, the workloads, and the line printed at the end."""
import json
import sys
import time
from typing import Protocol

PATHS = {"ping": "/echo", "receive": "/blast", "send": "/sink"}


class Connection(Protocol):
    """The API of the libraries with `async` functions: whole messages, `str` or `bytes`."""

    async def write(self, message: str | bytes) -> None: ...

    async def read(self) -> str | bytes: ...


def check(what: str, got: int, wanted: int) -> None:
    if got != wanted:
        sys.exit(f"{what}: {got} instead of {wanted}")


class Measure:
    def __init__(self) -> None:
        if len(sys.argv) != 5 or sys.argv[1] not in PATHS:
            sys.exit("usage: MODE PORT SIZE COUNT, MODE being one of " + ", ".join(PATHS))
        self.mode = sys.argv[1]
        self.size, self.count = int(sys.argv[3]), int(sys.argv[4])
        self.url = f"ws://127.0.0.1:{sys.argv[2]}{PATHS[self.mode]}"
        self.order = f"{self.count} {self.size}"
        self.payload = b"x" * self.size
        self.warm_up = min(self.count // 10 + 1, 2000)  # round trips before the clock starts
        self.samples: list[float] = []  # of each round trip, in seconds

    def start(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu

    def print(self) -> None:
        line = {"messages": self.count, "seconds": self.wall, "cpu": self.cpu}
        if self.samples:
            self.samples.sort()
            line["p50"] = self.samples[len(self.samples) // 2] * 1e6
            line["p99"] = self.samples[len(self.samples) * 99 // 100] * 1e6
        print(json.dumps(line))

    async def run(self, connection: Connection) -> None:
        await {"ping": self.ping, "receive": self.receive, "send": self.send}[self.mode](connection)

    async def ping(self, connection: Connection) -> None:
        for trip in range(self.warm_up + self.count):
            if trip == self.warm_up:
                self.start()
            sent = time.perf_counter()
            await connection.write(self.payload)
            echo = await connection.read()
            if trip >= self.warm_up:
                self.samples.append(time.perf_counter() - sent)
            check("size of an echo", len(echo), self.size)
        self.stop()

    async def receive(self, connection: Connection) -> None:
        received = 0
        self.start()
        await connection.write(self.order)
        while not isinstance(message := await connection.read(), str):
            check("size of a message", len(message), self.size)
            received += 1
        self.stop()
        check("messages", received, self.count)

    async def send(self, connection: Connection) -> None:
        self.start()
        for _ in range(self.count):
            await connection.write(self.payload)
        await connection.write("end")
        answer = await connection.read()
        self.stop()
        check("messages", int(answer), self.count)
