"""Python `websockets` as a measured client: python.py receive|send URL SIZE SECONDS (see ../README.md for what is measured)."""
import asyncio
import json
import sys
import time

from websockets.asyncio.client import connect


class Meter:
    def __init__(self, seconds):
        self.warm = time.perf_counter() + seconds * 0.3
        self.count = 0
        self.start = None

    def counted(self):
        self.count += 1
        if self.start is None and self.count % 64 == 0 and time.perf_counter() > self.warm:
            self.start = self.snapshot()

    def snapshot(self):
        return time.perf_counter(), time.process_time(), self.count

    def finish(self, said):
        end = self.snapshot()
        if said != f"end {self.count}":
            sys.exit(f"counted {self.count}, the sink says '{said}'")
        seconds, cpu, messages = (after - before for after, before in zip(end, self.start))
        print(json.dumps({"messages": messages, "seconds": seconds, "cpu": cpu}))


async def main():
    mode, url, size, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    async with connect(f"{url}/{mode}", compression=None, max_size=None, ping_interval=None) as connection:
        meter = Meter(seconds)
        if mode == "receive":
            await connection.send(f"{size} {seconds}")
        else:
            payload = b"x" * size
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                for _ in range(64):
                    await connection.send(payload)
                    meter.counted()
            await connection.send("end")
        async for message in connection:
            if isinstance(message, str):
                meter.finish(message)
                break
            meter.counted()


asyncio.run(main())
