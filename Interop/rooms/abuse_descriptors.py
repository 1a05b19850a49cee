"""A server at its limit of file descriptors waits without busy polling, keeps some for other uses, and continues later.
One address cannot take all of them.

abuse_descriptors.py HOLDFAST DIRECTORY     prints `ok NAME` or `not ok NAME: why`
"""
import asyncio
import json
import os
import resource
import socket
import sys
import time

from websockets.asyncio.client import connect

import abuse_http

LIMIT = 128  # descriptors of the server
CROWD = 300  # connections
BUSY = 0.15  # share of a processor, at most, while the server cannot accept
USUAL = 1024  # the default number of descriptors of many systems
SILENT = 1500  # connections of one address
OTHER = "127.0.0.2"  # another address of this machine than the attacker's


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def seconds_used(pid):
    """The processor time of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def dial(port):
    peer = socket.socket()
    peer.setblocking(False)
    peer.connect_ex(("127.0.0.1", port))
    return peer


async def status(port, path, source=None):
    try:
        async with asyncio.timeout(3):
            return (await abuse_http.ask(port, abuse_http.whole(f"GET {path}", key=None, Host="127.0.0.1"), source))[0]
    except (TimeoutError, OSError) as error:
        return error


async def attack(holdfast, directory, report):
    await few(holdfast, report)
    await one_address(holdfast, directory, report)


async def one_address(holdfast, directory, report):
    """One address opens more connections than allowed, and stays silent."""
    port, = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        holdfast, "serve", "hub", "--dev", "--quiet", "--port", str(port), "--data", f"{directory}/descriptors-log",
        stdout=asyncio.subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL, USUAL)))
    crowd = []
    try:
        await asyncio.wait_for(process.stdout.readline(), 60)
        for _ in range(SILENT):
            crowd.append(dial(port))
            await asyncio.sleep(0)
        await asyncio.sleep(1)
        answer = await status(port, "/healthz", OTHER)
        report(answer == 200, "probes of another address are answered while one address uses its maximum", answer)
        try:
            async with asyncio.timeout(5), connect(
                    f"ws://127.0.0.1:{port}/rooms", subprotocols=["holdfast.rooms.v1.json"], proxy=None, local_addr=(OTHER, 0)) as guest:
                await guest.send(json.dumps({"t": "hello", "v": [1], "device": "0" * 32, "token": "dev:bob"}))
                answer = json.loads(await guest.recv())["t"]
        except Exception as error:  # noqa: BLE001: any reason of the failure
            answer = error
        report(answer == "welcome", "users of another address are welcomed meanwhile", answer)
    finally:
        for peer in crowd:
            peer.close()
        process.terminate()
        await process.wait()


async def few(holdfast, report):
    port, metrics = free_ports(2)
    process = await asyncio.create_subprocess_exec(
        holdfast, "serve", "echo", "--quiet", "--port", str(port), f"--metrics={metrics}", stdout=asyncio.subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT)))
    crowd = []
    try:
        await asyncio.wait_for(process.stdout.readline(), 60)
        crowd = [dial(port) for _ in range(CROWD)]
        await asyncio.sleep(1)
        before = seconds_used(process.pid)
        began = time.monotonic()
        await asyncio.sleep(3)
        share = (seconds_used(process.pid) - before) / (time.monotonic() - began)
        print(f"# at its limit of descriptors the server takes {share:.0%} of a processor")
        report(share < BUSY, "a server at its limit of descriptors waits", f"{share:.0%} of a processor")
        answer = await status(metrics, "/metrics")
        report(answer == 200, "it keeps some descriptors for other uses", answer)
        for peer in crowd:
            peer.close()
        # The server must notice their end first.
        answer, ends = None, time.monotonic() + 5
        while answer != 404 and time.monotonic() < ends:
            answer = await status(port, "/")
        report(answer == 404, "it accepts again when descriptors are free", answer)
    finally:
        for peer in crowd:
            peer.close()
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(attack(sys.argv[1], sys.argv[2], lambda good, name, why="": print("ok" if good else "not ok", name, why)))
