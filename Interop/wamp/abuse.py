#!/usr/bin/env python3
"""What one client of a live router does to others, and to its memory: nobody loses a session or a procedure for what another sends, and
what is kept is bounded. Prints `ok NAME` or `not ok NAME: why`, and `memory NAME: …` for what an attack costs.

abuse.py HOLDFAST DIRECTORY [PART…]     (no part: all)
"""
import asyncio
import re
import socket
import sys
import time

from wire import (
    CALL, ERROR, EVENT, INVOCATION, PATIENCE, PUBLISH, REGISTER, REGISTERED, RESULT, SUBSCRIBE, SUBSCRIBED, YIELD, Ended, Peer, frame)

HOLDFAST, DIRECTORY = sys.argv[1], sys.argv[2]
UNAVAILABLE = "wamp.error.unavailable"
KILOBYTE, MEGABYTE = "x" * 1000, "x" * 1_000_000
passed = failed = 0


def report(good, name, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


class Router:
    def __init__(self, *options):
        self.options = options

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            HOLDFAST, "serve", "wamp", "--port", "0", *self.options, stdout=asyncio.subprocess.PIPE,
            stderr=open(f"{DIRECTORY}/router.log", "ab"))
        async with asyncio.timeout(PATIENCE):
            self.port = int(re.search(rb":(\d+)/", await self.process.stdout.readline())[1])
        return self

    async def __aexit__(self, *_):
        self.process.terminate()
        await self.process.wait()

    async def join(self, **options):
        return await Peer(self.port, **options).join()

    def memory(self, field="VmRSS"):
        """Bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"{field}:\s*(\d+)", file.read())[1]) * 1024

    def tell_memory(self, name, before):
        after, peak = self.memory(), self.memory("VmHWM")
        print(f"memory {name}: {before >> 20} MB before, {peak >> 20} MB at most, {after >> 20} MB after", flush=True)
        return peak - before, after - before


async def flood(peer, chunk, count):
    """Sends as fast as the router takes it; how much of it was sent before the router took no more for so long."""
    for number in range(count):
        try:
            peer.writer.write(chunk(number))
            if not await peer.drain(15):
                return number
        except ConnectionError:
            return number
    return count


async def read_on(peer, heard, pause=0.0):
    """Reads, with a pause for each message, until the router closes: then tells the code."""
    try:
        while True:
            message = await peer.listen()
            heard.append(message)
            if message[0] == INVOCATION:
                peer.say(YIELD, message[1], {}, ["done"])
                await peer.drain()
            if pause:
                await asyncio.sleep(pause)
    except Ended as ended:
        return ended.code


async def callees():
    """A flood of calls: their callee stays, and keeps its procedure."""
    async with Router() as router:
        callee, caller, honest = await router.join(), await router.join(), await router.join()
        await callee.ask(REGISTER, {}, "com.app.work")
        before, heard, answers = router.memory(), [], []
        reading = asyncio.create_task(read_on(callee, heard, 0.001))
        answering = asyncio.create_task(read_on(caller, answers))
        sent = await flood(caller, lambda _: b"".join(
            frame([CALL, caller.next(), {}, "com.app.work", [KILOBYTE * 20]]) for _ in range(20)), 50)
        answer = await honest.ask(CALL, {}, "com.app.work", ["hello"])
        report(answer[0] == RESULT or answer[4] == UNAVAILABLE, "beside a flood of calls another one is answered", answer)
        report(not reading.done(), "a callee that is called faster than it works is not cut off", reading.done() and reading.result())
        answer = await caller_or_new(router, REGISTER, {}, "com.app.work")
        report(answer[0] == ERROR, "who floods a callee cannot take its procedure", answer)
        report(len(heard) > 100, "it went on working meanwhile", (len(heard), sent))
        for task in (reading, answering):
            task.cancel()
        router.tell_memory("calls that come too fast", before)

        # One that reads nothing: whoever calls it is told.
        deaf, caller = await router.join(), await router.join()
        await deaf.ask(REGISTER, {}, "com.app.deaf")
        answers = []
        answering = asyncio.create_task(read_on(caller, answers))
        await flood(caller, lambda _: frame([CALL, caller.next(), {}, "com.app.deaf", [KILOBYTE * 500]]), 40)
        async with asyncio.timeout(PATIENCE):
            while not any(answer[0] == ERROR and answer[4] == UNAVAILABLE for answer in answers):
                await asyncio.sleep(0.05)
        report(not answering.done(), "a call for which its callee has no room is answered unavailable")
        answer = await caller_or_new(router, REGISTER, {}, "com.app.deaf")
        report(answer[0] == ERROR, "and the callee keeps its procedure all the same", answer)
        answering.cancel()


async def caller_or_new(router, *request):
    return await (await router.join()).ask(*request)


async def topics():
    """A flood of events: who publishes waits, who takes them at a fair speed stays."""
    async with Router() as router:
        subscriber, publisher = await router.join(), await router.join()
        await subscriber.ask(SUBSCRIBE, {}, "com.app.ticks")
        before, heard = router.memory(), []
        # About 4 MB/s.
        reading = asyncio.create_task(read_on(subscriber, heard, 0.005))
        count = 100
        sent = await flood(publisher, lambda _: b"".join(
            frame([PUBLISH, publisher.next(), {}, "com.app.ticks", [KILOBYTE * 20]]) for _ in range(10)), count)
        async with asyncio.timeout(PATIENCE):
            while not reading.done() and len(heard) < sent * 10:
                await asyncio.sleep(0.05)
        report(not reading.done(), "a subscriber that takes events slower than they are published is not cut off", len(heard))
        report(len(heard) == count * 10, "and gets all of them", (sent, len(heard)))
        reading.cancel()
        router.tell_memory("events that come too fast", before)

        # One that reads nothing is cut off, and the publisher goes on.
        deaf = await router.join()
        await deaf.ask(SUBSCRIBE, {}, "com.app.more")
        started = time.monotonic()
        sent = await flood(publisher, lambda _: frame([PUBLISH, publisher.next(), {}, "com.app.more", [KILOBYTE * 100]]), 200)
        took = time.monotonic() - started
        report(sent == 200 and took < 12, "a subscriber that reads nothing holds its publisher for seconds only", (sent, took))
        code = await read_on(deaf, [])
        report(code in (1013, 1006), "and is cut off itself", code)


async def parts():
    """A flood of progressive results: their caller stays."""
    async with Router() as router:
        callee, caller = await router.join(), await router.join()
        await callee.ask(REGISTER, {}, "com.app.parts")
        before, heard = router.memory(), []
        caller.say(CALL, caller.next(), {"receive_progress": True}, "com.app.parts")
        invocation = await callee.hear()
        reading = asyncio.create_task(read_on(caller, heard, 0.005))
        count = 100
        sent = await flood(callee, lambda _: b"".join(
            frame([YIELD, invocation[1], {"progress": True}, [KILOBYTE * 20]]) for _ in range(10)), count)
        callee.say(YIELD, invocation[1], {}, ["end"])
        async with asyncio.timeout(PATIENCE):
            while not reading.done() and not (heard and (heard[-1][0] == ERROR or heard[-1][2] == {})):
                await asyncio.sleep(0.05)
        report(not reading.done(), "a caller that takes results slower than they come is not cut off", len(heard))
        report(len(heard) == count * 10 + 1 and heard[-1][0] == RESULT, "and gets all of them", (sent, len(heard)))
        reading.cancel()
        router.tell_memory("results that come too fast", before)


PARTS = {"callees": callees, "topics": topics, "parts": parts}


async def main():
    for name in sys.argv[3:] or PARTS:
        try:
            await PARTS[name]()
        except (Ended, TimeoutError, AssertionError, ConnectionError) as error:
            report(False, name, repr(error))
    print(f"{passed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    socket.setdefaulttimeout(PATIENCE)
    sys.exit(1 if asyncio.run(main()) else 0)
