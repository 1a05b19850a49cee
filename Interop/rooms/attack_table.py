"""A table of the memory that attacks cost a server. Every row has a limit in bytes, which follows from limits of the server."""
import asyncio
import typing

SLACK = 8 << 20  # bytes for the allocator and the runtime besides what is counted


class Row(typing.NamedTuple):
    attack: str
    connections: int
    sent: int | None  # bytes
    before: int
    peak: int
    after: int
    bound: int  # bytes of allowed growth

    @property
    def grown(self):
        return self.peak - self.before

    @property
    def kept(self):
        return self.after - self.before


def memory(pid):
    """The resident bytes of a process."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


class Watch:
    """Measures a process during an attack: once per `look`, and continuously in an `async with`."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.peak = memory(pid)

    def look(self):
        self.peak = max(self.peak, memory(self.pid))

    async def __aenter__(self):
        self.looking = asyncio.create_task(self.keep_looking())
        return self

    async def __aexit__(self, *_):
        self.looking.cancel()
        self.look()

    async def keep_looking(self):
        while True:
            self.look()
            await asyncio.sleep(0.05)

    def row(self, attack, connections, sent, bound):
        """The cost of the attack, which is over."""
        self.look()
        return Row(attack, connections, sent, self.before, self.peak, memory(self.pid), bound)


def judge(row, report):
    report(row.grown < row.bound, f"bounded memory: {row.attack}", f"{row.grown} bytes, {row.bound} at most")


def table(rows):
    def megabytes(number):
        return "-" if number is None else f"{number / 1e6:.1f} MB"
    print("# | attack | connections | bytes sent | before | at most | after | bound |\n# |---|---|---|---|---|---|---|---|")
    for row in rows:
        figures = " | ".join(megabytes(figure) for figure in (row.sent, row.before, row.peak, row.after))
        print(f"# | {row.attack} | {row.connections} | {figures} | +{megabytes(row.bound)} |", flush=True)
