#!/usr/bin/env python3
"""Attacks of one client on others at a live router, and on its memory. No attack may end another session or take its procedures, and
memory must stay limited. Prints `ok NAME` or `not ok NAME: why`, and `memory NAME: …` for the cost of an attack.

abuse.py HOLDFAST DIRECTORY [PART…]     (no part: all)
"""
import asyncio
import os
import re
import resource
import socket
import sys
import time

from wire import (
    ABORT, AUTHENTICATE, CALL, CHALLENGE, ERROR, EVENT, INVOCATION, PATIENCE, PUBLISH, REGISTER, RESULT, SUBSCRIBE, SUBSCRIBED, YIELD,
    Ended, Peer, frame)

HOLDFAST, DIRECTORY = sys.argv[1], sys.argv[2]
UNAVAILABLE = "wamp.error.unavailable"
KILOBYTE, MEGABYTE = "x" * 1000, "x" * 1_000_000
passed = failed = 0


def report(good, name, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


class Router:
    def __init__(self, *options, files=None):
        """files: the initial and the maximum number of open files of the process."""
        self.options, self.files = options, files

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            HOLDFAST, "serve", "wamp", "--port", "0", *self.options, stdout=asyncio.subprocess.PIPE,
            stderr=open(f"{DIRECTORY}/router.log", "ab"),
            preexec_fn=self.files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, self.files)))
        async with asyncio.timeout(PATIENCE):
            self.port = int(re.search(rb":(\d+)/", await self.process.stdout.readline())[1])
        return self

    async def __aexit__(self, *_):
        self.process.terminate()
        await self.process.wait()

    async def join(self, source=None, **options):
        return await Peer(self.port, source=source).join(**options)

    def memory(self, field="VmRSS"):
        """The memory in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"{field}:\s*(\d+)", file.read())[1]) * 1024

    def tell_memory(self, name, before):
        after, peak = self.memory(), self.memory("VmHWM")
        print(f"memory {name}: {before >> 20} MB before, {peak >> 20} MB at most, {after >> 20} MB after", flush=True)
        return peak - before, after - before


async def flood(peer, chunk, count):
    """Sends as fast as the router accepts. Returns the number sent before the router stopped accepting."""
    for number in range(count):
        try:
            peer.writer.write(chunk(number))
            if not await peer.drain(15):
                return number
        except ConnectionError:
            return number
    return count


async def read_on(peer, heard, pause=0.0):
    """Reads, with a pause per message, until the router closes. Returns the close code."""
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
    """A flood of calls: the callee stays connected, and keeps its procedure."""
    async with Router() as router:
        callee, caller, honest = await router.join(), await router.join(), await router.join()
        await callee.ask(REGISTER, {}, "com.app.work")
        before, heard, answers = router.memory(), [], []
        reading = asyncio.create_task(read_on(callee, heard, 0.001))
        answering = asyncio.create_task(read_on(caller, answers))
        sent = await flood(caller, lambda _: b"".join(
            frame([CALL, caller.next(), {}, "com.app.work", [KILOBYTE * 20]]) for _ in range(20)), 50)
        answer = await honest.ask(CALL, {}, "com.app.work", ["hello"])
        report(answer[0] == RESULT or answer[4] == UNAVAILABLE, "a call of another client is answered during a flood of calls", answer)
        report(not reading.done(), "a callee that is called faster than it works stays connected", reading.done() and reading.result())
        answer = await caller_or_new(router, REGISTER, {}, "com.app.work")
        report(answer[0] == ERROR, "a client that floods a callee cannot take its procedure", answer)
        report(len(heard) > 100, "the callee worked during the flood", (len(heard), sent))
        for task in (reading, answering):
            task.cancel()
        router.tell_memory("calls that come too fast", before)
        for name, arguments in (("_all", []), ("_by_authrole", ["anonymous"]), ("", [callee.session])):
            answer = await caller_or_new(router, CALL, {}, "wamp.session.kill" + name, arguments)
            report(answer[0] == ERROR and answer[4] == "wamp.error.not_authorized", f"nobody ends it by wamp.session.kill{name}", answer)

        # A callee that does not read. Its callers get an error.
        deaf, caller = await router.join(), await router.join()
        await deaf.ask(REGISTER, {}, "com.app.deaf")
        answers = []
        answering = asyncio.create_task(read_on(caller, answers))
        await flood(caller, lambda _: frame([CALL, caller.next(), {}, "com.app.deaf", [KILOBYTE * 500]]), 40)
        async with asyncio.timeout(PATIENCE):
            while not any(answer[0] == ERROR and answer[4] == UNAVAILABLE for answer in answers):
                await asyncio.sleep(0.05)
        report(not answering.done(), "a call to a callee with a full queue is answered unavailable")
        answer = await caller_or_new(router, REGISTER, {}, "com.app.deaf")
        report(answer[0] == ERROR, "the callee keeps its procedure", answer)
        answering.cancel()


async def caller_or_new(router, *request):
    return await (await router.join()).ask(*request)


async def topics():
    """A flood of events: the publisher waits, and a subscriber of fair speed stays connected."""
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
        report(not reading.done(), "a subscriber slower than its publisher stays connected", len(heard))
        report(len(heard) == count * 10, "it gets all events", (sent, len(heard)))
        reading.cancel()
        router.tell_memory("events that come too fast", before)

        # A subscriber that does not read is disconnected, and the publisher continues.
        deaf = await router.join()
        await deaf.ask(SUBSCRIBE, {}, "com.app.more")
        started = time.monotonic()
        sent = await flood(publisher, lambda _: frame([PUBLISH, publisher.next(), {}, "com.app.more", [KILOBYTE * 100]]), 200)
        took = time.monotonic() - started
        report(sent == 200 and took < 12, "a subscriber that does not read delays its publisher only for seconds", (sent, took))
        code = await read_on(deaf, [])
        report(code in (1013, 1006), "it is disconnected", code)


async def stalls():
    """A subscriber that stalls and catches up in turn. The publisher continues."""
    async with Router() as router:
        reader, publisher = await router.join(), await router.join()
        await reader.ask(SUBSCRIBE, {}, "com.app.ticks")

        async def stall():
            while True:
                await asyncio.sleep(4)
                # A quarter of a megabyte a second, less than four times the router's minimum.
                for _ in range(20):
                    await reader.listen()

        stalling = asyncio.create_task(stall())
        started, waited, chunk = time.monotonic(), 0.0, b""
        while time.monotonic() - started < 40:
            chunk = b"".join(frame([PUBLISH, publisher.next(), {}, "com.app.ticks", [KILOBYTE * 50]]) for _ in range(10))
            before = time.monotonic()
            publisher.writer.write(chunk)
            await publisher.drain()
            took = time.monotonic() - before
            # Shorter times are work, not waiting.
            waited += took if took > 0.25 else 0
        report(waited < 15, "a subscriber that stalls in turn delays its publisher only for a part of 40 s", f"{waited:.1f} s")
        print(f"held: {waited:.1f} s of 40", flush=True)
        stalling.cancel()


async def parts():
    """A flood of progressive results: the caller stays connected."""
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
        report(not reading.done(), "a caller slower than its results stays connected", len(heard))
        report(len(heard) == count * 10 + 1 and heard[-1][0] == RESULT, "it gets all results", (sent, len(heard)))
        reading.cancel()
        router.tell_memory("results that come too fast", before)


async def kept():
    """Data that stays after its publisher has left: retained events, testaments and histories."""
    async with Router("--history", "1000") as router:
        honest = await router.join()
        await honest.ask(PUBLISH, {"retain": True, "acknowledge": True}, "com.honest.state", ["kept"])
        before = router.memory()
        refused = 0
        for session in range(10):
            peer = await router.join()
            for number in range(50):
                answer = await peer.ask(PUBLISH, {"retain": True, "acknowledge": True}, f"com.app.s{session}.n{number}", [MEGABYTE])
                refused += answer[0] == ERROR and answer[4] == UNAVAILABLE
            peer.close()
            # The session is alive, and answers pings.
            await honest.ask(CALL, {}, "wamp.session.count")
        report(refused > 300, "a publication above the budget of retained events is refused with an error", refused)
        report(before + (300 << 20) > router.memory(), "500 retained events of 1 MB of ended sessions stay within the budget",
               router.memory())
        other = await router.join()
        answer = await other.ask(SUBSCRIBE, {"get_retained": True}, "com.honest.state")
        report(answer[0] == SUBSCRIBED and (await other.hear())[0] == EVENT, "retained events of a present session stay", answer)
        # Histories of a thousand events of 1 MB, and testaments.
        reader, writer = await router.join(), await router.join()
        await reader.ask(SUBSCRIBE, {}, "com.app.long")
        reading = asyncio.create_task(read_on(reader, []))
        sent = await flood(writer, lambda _: frame([PUBLISH, writer.next(), {}, "com.app.long", [MEGABYTE]]), 150)
        report(sent == 150, "a topic with a history takes 150 MB", sent)
        reading.cancel()
        refused = 0
        for _ in range(10):
            peer = await router.join()
            for _ in range(10):
                answer = await peer.ask(CALL, {}, "wamp.session.add_testament", ["com.app.end", [MEGABYTE], {}])
                refused += answer[0] == ERROR and answer[4] == UNAVAILABLE
        report(refused > 50, "testaments above the budget are refused", refused)
        peak, _ = router.tell_memory("what is kept", before)
        report(peak < 400 << 20, "memory stays within the budget of all realms", peak)


async def holders():
    """Sessions that stay: neither one address nor one user can fill a realm."""
    async def fill(peers):
        refusals = []
        for peer in peers:
            for number in range(4):
                topic = f"com.app.s{peer.session}.n{number}"
                answer = await peer.ask(PUBLISH, {"retain": True, "acknowledge": True}, topic, [MEGABYTE])
                refusals += [answer[5][0]] if answer[0] == ERROR and answer[4] == UNAVAILABLE else []
        return refusals

    async with Router() as router:
        refusals = await fill([await router.join() for _ in range(20)])
        report(len(refusals) > 40 and "this address" in refusals[-1],
               "twenty sessions of an address that stay fill no realm", refusals[-1:])
        refused = await fill([await router.join(source="127.0.0.2")])
        report(len(refused) <= 1, "another address can still join", refused)
        reader = await router.join(source="127.0.0.3")
        answer = await reader.ask(SUBSCRIBE, {}, "com.app.ticks")
        report(answer[0] == SUBSCRIBED, "another address can still subscribe", answer)
    async with Router("--user", "eve:sesame", "--anonymous") as router:
        peers = []
        for number in range(8):
            peer = Peer(router.port, source=f"127.0.0.{number + 10}")
            await peer.open()
            await peer.hello(authmethods=["ticket"], authid="eve")
            peer.say(AUTHENTICATE, "sesame", {})
            peer.session = (await peer.hear())[1]
            peers.append(peer)
        refusals = await fill(peers)
        report(len(refusals) > 12 and "this user" in refusals[-1],
               "eight sessions of a user from eight addresses fill no realm", refusals[-1:])


async def readers():
    """A hundred clients of an address that request more than they read. The waiting data of all has a limit."""
    async with Router() as router:
        publisher, size, count = await router.join(source="127.0.0.2"), 200_000, 20
        await publisher.ask(PUBLISH, {"retain": True, "acknowledge": True}, "com.app.big", ["x" * size])
        before = router.memory()
        deaf = [await router.join() for _ in range(100)]
        for peer in deaf:
            # Only the kernel's buffers are filled from here.
            peer.writer.transport.pause_reading()
            for _ in range(count):
                peer.say(SUBSCRIBE, peer.next(), {"get_retained": True}, "com.app.big")
            await peer.drain()
        reader = await router.join(source="127.0.0.3")
        answer = await reader.ask(SUBSCRIBE, {"get_retained": True}, "com.app.big")
        report(answer[0] == SUBSCRIBED and (await reader.hear())[0] == EVENT, "another address gets its answer", answer)
        peak, _ = router.tell_memory("clients that read nothing", before)
        # The limit of an address, and for each client 64 KiB, a message that is being sent, and a connection.
        bound = (64 << 20) + len(deaf) * (size + (192 << 10))
        report(peak < bound, "what waits for a hundred clients that read nothing has a bound", (peak, bound, len(deaf) * count * size))
        for peer in deaf:
            peer.close()


async def patterns():
    """A publication that matches a thousand patterns of its publisher is not written a thousand times. Very long lists are refused."""
    async with Router() as router:
        greedy, honest = await router.join(), await router.join()
        topic = "a" * 1000
        for length in range(1, 1000):
            greedy.say(SUBSCRIBE, greedy.next(), {"match": "prefix"}, topic[:length])
        await greedy.drain()
        greedy.writer.transport.pause_reading()
        greedy.say(PUBLISH, greedy.next(), {"exclude_me": False}, topic, [MEGABYTE])
        await greedy.drain()
        started = time.monotonic()
        for _ in range(20):
            await honest.ask(CALL, {}, "wamp.session.count")
        waited = time.monotonic() - started
        print(f"wait beside a publication that a thousand patterns match: {waited:.2f} s", flush=True)
        report(waited < 2, "a publication that a thousand patterns match delays no other client", waited)
        peers = [await router.join() for _ in range(3)]
        for peer in peers:
            for number in range(4000):
                peer.say(SUBSCRIBE, peer.next(), {}, f"com.app.s{peer.session}.n{number}")
            await peer.drain()
            answers = [await peer.hear() for _ in range(4000)]
            assert answers[-1][0] == SUBSCRIBED, answers[-1]
        answer = await honest.ask(CALL, {}, "wamp.subscription.list")
        report(answer[0] == ERROR and answer[4] == UNAVAILABLE, "a list of very many subscriptions is refused", answer[:5])


async def errors():
    """A callee that answers with very long error names must not disconnect its callers."""
    async with Router() as router:
        callee, caller = await router.join(), await router.join()
        await callee.ask(REGISTER, {}, "com.app.fail")
        caller.writer.transport.pause_reading()
        for _ in range(12):
            caller.say(CALL, caller.next(), {}, "com.app.fail")
        await caller.drain()
        for _ in range(12):
            invocation = await callee.hear()
            callee.say(ERROR, INVOCATION, invocation[1], {}, "com.app." + MEGABYTE[:900_000])
            await callee.drain()
        caller.writer.transport.resume_reading()
        answers = [await caller.hear() for _ in range(12)]
        report(all(answer[0] == ERROR and len(answer[4]) < 1100 for answer in answers),
               "who is answered with endless error names stays, and gets short ones", [answer[4][:40] for answer in answers])


async def realms():
    """One address can make a limited number of realms, and the retained events of other realms stay."""
    async with Router() as router:
        honest = await router.join(realm="honest", source="127.0.0.2")
        await honest.ask(PUBLISH, {"retain": True, "acknowledge": True}, "com.honest.state", ["kept"])
        honest.close()
        peers, reasons = [], []
        for number in range(100):
            peer = Peer(router.port)
            peers.append(peer)
            await peer.open()
            answer = await peer.hello(realm=f"realm.n{number}")
            reasons += [answer[2]] if answer[0] == ABORT else []
        report(len(reasons) == 36 and set(reasons) == {UNAVAILABLE}, "the realms of an address are limited", reasons)
        other = await router.join(realm="honest", source="127.0.0.2")
        await other.ask(SUBSCRIBE, {"get_retained": True}, "com.honest.state")
        report((await other.hear())[0] == EVENT, "a realm of another address keeps its retained events")


async def salts(users):
    """The salts of known and unknown names, which must be the same after a restart."""
    shown = []
    for _ in range(2):
        async with Router("--users", users) as router:
            seen = {}
            for name in ("ann", "cat", *(f"x{number}" for number in range(8))):
                peer = Peer(router.port)
                await peer.open()
                answer = await peer.hello(authmethods=["wampcra"], authid=name)
                seen[name] = (answer[2]["salt"], answer[2]["iterations"])
                peer.close()
            shown.append(seen)
    report(shown[0] == shown[1] and len(set(shown[0].values())) == 10, "salts of all names are the same after a restart", shown)
    lengths = {(len(salt), set(salt) <= set("0123456789abcdef"), count) for salt, count in shown[0].values()}
    report(len(lengths) == 1, "salts of known and unknown users have the same length", lengths)
    mode = os.stat(users + ".key").st_mode & 0o777
    report(mode == 0o600, "only its owner can read the key of the salts", oct(mode))


async def proxies():
    """Behind a proxy each client has its own address."""
    async with Router("--user", "ann:sesame", "--behind-proxy", "--address-connections", "30") as router:
        async def login(name, ticket, forwarded):
            peer = Peer(router.port, forwarded=forwarded)
            status = await peer.open()
            if status != 101:
                return [status]
            answer = await peer.hello(authmethods=["ticket"], authid=name)
            if answer[0] == CHALLENGE:
                peer.say(AUTHENTICATE, ticket, {})
                answer = await peer.hear()
            peer.close()
            return answer

        # The attacker may send any header. Only the proxy's part counts.
        for number in range(24):
            answer = await login(f"x{number}", "wrong", f"10.9.9.{number}, 10.0.0.1")
        report(answer[0] == ABORT, "guesses are refused", answer)
        started = time.monotonic()
        answer = await login("ann", "sesame", "10.0.0.2")
        took = time.monotonic() - started
        report(answer[0] not in (ABORT, 429) and took < 2, "another client of the same proxy logs in meanwhile", (answer, took))
        peers = [Peer(router.port, forwarded="10.0.0.3") for _ in range(31)]
        statuses = [await peer.open() for peer in peers]
        report(statuses == [101] * 30 + [429],
               "one more connection of an address than it may have is refused by the router", statuses[-3:])
        status = await Peer(router.port, forwarded="10.0.0.4").open()
        report(status == 101, "and of another is not", status)


async def logins():
    """Guesses are slow, and do not reveal whether a user exists."""
    async with Router("--user", "ann:sesame", "--cra", "bob:hush") as router:
        peer = Peer(router.port)
        await peer.open()
        answer = await peer.hello(authmethods=["ticket"], authid="an\u200bn")
        report(answer[0] == ABORT and answer[2] == "wamp.error.authentication_failed",
               "a name with a character that nobody sees is not asked for its ticket", answer)
        shapes = {}
        for name in ("ann", "bob", *(f"x{number}" for number in range(20))):
            peer = Peer(router.port)
            await peer.open()
            answer = await peer.hello(authmethods=["wampcra", "ticket"], authid=name)
            shapes[name] = (answer[0], answer[1], tuple(sorted(answer[2])))
            peer.close()
        report({shapes["ann"], shapes["bob"]} == {shape for name, shape in shapes.items() if name[0] == "x"},
               "those who are not on the list are challenged like those who are", shapes)
        started, guesses, waits = time.monotonic(), 0, 0
        while time.monotonic() - started < 5:
            peer = Peer(router.port)
            await peer.open()
            answer = await peer.hello(authmethods=["ticket"], authid="ann")
            if answer[0] == CHALLENGE:
                peer.say(AUTHENTICATE, f"guess{guesses}", {})
                answer = await peer.hear()
            guesses += answer[0] == ABORT and answer[2] == "wamp.error.authentication_failed"
            waits += answer[0] == ABORT and answer[2] == UNAVAILABLE
            peer.close()
        rate = guesses / (time.monotonic() - started)
        print(f"guesses: {rate:.1f} a second", flush=True)
        report(guesses < 40, "one address can guess only a few tickets a second", (guesses, waits))
    users = f"{DIRECTORY}/users"
    with open(users, "w", encoding="ascii") as file:
        file.write("salted ann sesame\nsalted cat hush\n")
    await salts(users)


async def addresses():
    """The number of connections of an address is limited."""
    async with Router("--address-connections", "50") as router:
        peers = []
        for _ in range(50):
            peers.append(await router.join())
        late = Peer(router.port)
        status = await late.open()
        report(status == 0, "a connection above the limit of an address is closed", status)
        peers.pop().close()
        async with asyncio.timeout(PATIENCE):
            while await Peer(router.port).open() != 101:
                await asyncio.sleep(0.05)
        report(True, "a closed connection makes room for another")
    # With the default limit of files the router raises it, or gives one address half of it.
    for files, least in (((1024, 4096), 999), ((1024, 1024), 100)):
        async with Router(files=files) as router:
            peers = []
            while len(peers) < 1100:
                peers.append(Peer(router.port))
                if await peers[-1].open() != 101:
                    break
            other = Peer(router.port, source="127.0.0.2")
            status = await other.open()
            report(len(peers) - 1 >= least and status == 101,
                   f"one address does not fill a router that may open {files[1]} files", (len(peers), status))
            for peer in peers:
                peer.close()


async def commands():
    """A command for each call, with a limit of concurrent ones."""
    async with Router() as router:
        tool = await asyncio.create_subprocess_exec(
            HOLDFAST, "wamp", "register", f"ws://127.0.0.1:{router.port}/ws", "realm1", "com.app.exec", "--exec", "sleep 600",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
        await tool.stderr.readline()
        caller = await router.join()
        for _ in range(200):
            caller.say(CALL, caller.next(), {}, "com.app.exec")
        most = 0
        for _ in range(20):
            await asyncio.sleep(0.1)
            most = max(most, children(tool.pid))
        report(0 < most <= 4, "200 calls at once start four commands", most)
        tool.terminate()
        await tool.wait()


def children(pid):
    """The number of child processes of a process, of all its threads."""
    count = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            count += len(file.read().split())
    return count


PARTS = {
    "callees": callees, "topics": topics, "stalls": stalls, "parts": parts, "kept": kept, "holders": holders, "readers": readers, "patterns": patterns, "errors": errors, "realms": realms,
    "logins": logins,
    "proxies": proxies, "addresses": addresses, "commands": commands,
}


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
