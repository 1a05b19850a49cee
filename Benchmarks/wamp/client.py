"""autobahn-python as the client of Benchmarks/wamp: the same work and output as WAMPBench.swift.

client.py calls|events URL REALM SECONDS COUNT
"""

import asyncio
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Interop" / "wamp"))
from peer import join, leave  # noqa: E402

ADD, NEWS = "com.bench.add", "com.bench.news"
PAYLOAD = "x" * 100
LATENCIES = 1000


async def measure(body):
    times = []
    for _ in range(LATENCIES):
        start = time.perf_counter()
        await body()
        times.append((time.perf_counter() - start) * 1000)
    return sorted(times)


def report(count, seconds, latency):
    say("end")
    p50, p99 = latency[len(latency) // 2], latency[len(latency) * 99 // 100]
    say(json.dumps({"count": count, "seconds": seconds, "p50_ms": p50, "p99_ms": p99}))


def say(line):
    print(line, flush=True)


async def calls(url, realm, seconds, in_flight):
    caller, callee = await join(url, realm), await join(url, realm)
    await callee.register(lambda a, b: a + b, ADD)

    async def work():
        if await caller.call(ADD, 23, 7) != 30:
            raise SystemExit("a wrong result")

    for _ in range(1000):
        await work()
    latency = await measure(work)
    say("start")
    start = time.perf_counter()

    async def worker():
        count = 0
        while time.perf_counter() - start < seconds:
            await work()
            count += 1
        return count

    count = sum(await asyncio.gather(*(worker() for _ in range(in_flight))))
    report(count, time.perf_counter() - start, latency)
    await leave(caller)
    await leave(callee)


async def events(url, realm, seconds, count):
    publisher = await join(url, realm)
    subscribers = [await join(url, realm) for _ in range(count)]
    got, target, reached = 0, 0, asyncio.Event()

    def heard(content):
        nonlocal got
        if content == PAYLOAD:
            got += 1
            if got >= target:
                reached.set()

    async def reach(number):
        nonlocal target
        target = number
        reached.clear()
        if got < target:
            await reached.wait()

    for subscriber in subscribers:
        await subscriber.subscribe(heard, NEWS)
    burst, sent = max(64, 512 // count), 0

    async def one():
        nonlocal sent
        sent += 1
        publisher.publish(NEWS, PAYLOAD)
        await reach(sent * count)

    latency = await measure(one)
    before = sent
    say("start")
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(burst):
            publisher.publish(NEWS, PAYLOAD)
        sent += burst
        await reach((sent - burst) * count)
    await reach(sent * count)
    report((sent - before) * count, time.perf_counter() - start, latency)
    for session in [publisher, *subscribers]:
        await leave(session)


def main():
    work, url, realm, seconds, count = sys.argv[1:]
    asyncio.run({"calls": calls, "events": events}[work](url, realm, float(seconds), int(count)))


main()
