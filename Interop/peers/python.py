#!/usr/bin/env python3
"""Python `websockets` as a peer.

python.py echo-server [--tls-cert FILE --tls-key FILE [--tls-client-ca FILE] [--tls-version 1.2|1.3]] [--no-compression] [--max-size BYTES]
python.py suite URL [--ca FILE] [--no-compression] [--lines]
"""
import argparse
import asyncio
import ssl
import sys
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

MEBIBYTE = 1 << 20


async def echo(connection):
    parts = connection.request.path.split("/")
    if parts[1] == "close":
        await connection.close(int(parts[2]), parts[3])
        return
    try:
        async for message in connection:
            await connection.send(message)
    except ConnectionClosed:
        pass  # closed with a code other than 1000 or 1001, as the suite does


async def echo_server(arguments):
    tls = None
    if arguments.tls_cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.tls_cert, arguments.tls_key)
        if arguments.tls_client_ca:
            tls.verify_mode = ssl.CERT_REQUIRED
            tls.load_verify_locations(arguments.tls_client_ca)
        if arguments.tls_version:
            version = ssl.TLSVersion["TLSv" + arguments.tls_version.replace(".", "_")]
            tls.minimum_version = tls.maximum_version = version
    compression = None if arguments.no_compression else "deflate"
    async with serve(echo, "127.0.0.1", 0, ssl=tls, max_size=arguments.max_size, compression=compression) as server:
        print("listening", server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


def content(count):
    return bytes((index * 31 + (index >> 8)) & 0xFF for index in range(count))


def expect_same(got, wanted):
    if got != wanted or type(got) is not type(wanted):
        raise AssertionError(f"got {got!r:.60}, not {wanted!r:.60}")


class Suite:
    """The checks by name. Each gets an open connection."""

    def __init__(self, arguments):
        self.url = arguments.url
        self.options = {"max_size": 32 * MEBIBYTE}
        if arguments.no_compression:
            self.options["compression"] = None
        if arguments.ca:
            self.options["ssl"] = ssl.create_default_context(cafile=arguments.ca)
        self.lines = arguments.lines
        self.failures = 0

    async def echoes(self, connection, message):
        await connection.send(message)
        expect_same(await connection.recv(), message)

    async def compression(self, connection):
        expect_same(bool(connection.protocol.extensions), "compression" not in self.options)

    async def fragments(self, connection):
        whole = content(30_000)
        await connection.send([whole[:10_000], whole[10_000:20_000], whole[20_000:]])
        expect_same(await connection.recv(), whole)

    async def thousand_in_order(self, connection):
        async def send_all():
            for index in range(1000):
                await connection.send(f"message {index}")

        sender = asyncio.create_task(send_all())
        for index in range(1000):
            expect_same(await connection.recv(), f"message {index}")
        await sender

    async def ping(self, connection):
        await (await connection.ping(b"are you there"))

    async def closed_by_peer(self, _):
        async with connect(with_path(self.url, "/close/4002/why"), **self.options) as other:
            try:
                await other.recv()
            except ConnectionClosed as closed:
                expect_same((closed.rcvd.code, closed.rcvd.reason), (4002, "why"))
            else:
                raise AssertionError("a message instead of a close")

    async def close(self, connection):
        await connection.close(4001, "done")
        expect_same(connection.close_code, 4001)

    def checks(self):
        def echoing(message):
            return lambda connection: self.echoes(connection, message)

        yield "compression", self.compression
        yield "text", echoing("hello")
        yield "unicode", echoing("Grüße, κόσμε, 世界, 🌍")
        yield "long-text", echoing("0123456789abcdef" * 4096)
        if not self.lines:
            yield "binary", echoing(content(5))
            yield "empty-text", echoing("")
            yield "empty-binary", echoing(b"")
            yield "125-bytes", echoing(content(125))
            yield "126-bytes", echoing(content(126))
            yield "65536-bytes", echoing(content(65_536))
            yield "one-mebibyte", echoing(content(MEBIBYTE))
            yield "fragments", self.fragments
            yield "closed-by-peer-4002", self.closed_by_peer
        yield "thousand-in-order", self.thousand_in_order
        yield "ping", self.ping
        yield "close-4001", self.close

    async def report(self, name, work):
        try:
            result = await asyncio.wait_for(work, 10)
            print("ok", name, flush=True)
            return result
        except Exception as error:  # any error is a failure of this check
            self.failures += 1
            print(f"not ok {name}: {error or type(error).__name__}", flush=True)

    async def run(self):
        connection = await self.report("open", connect(self.url, **self.options).__aenter__())
        if connection:
            for name, check in self.checks():
                await self.report(name, check(connection))
        return 1 if self.failures else 0


def with_path(base, path):
    return urlunsplit(urlsplit(base)._replace(path=path))


def main():
    parser = argparse.ArgumentParser(description="Python websockets as a peer")
    commands = parser.add_subparsers(dest="command", required=True)
    server = commands.add_parser("echo-server")
    server.add_argument("--tls-cert")
    server.add_argument("--tls-key")
    server.add_argument("--tls-client-ca")
    server.add_argument("--tls-version", choices=["1.2", "1.3"])
    server.add_argument("--no-compression", action="store_true")
    server.add_argument("--max-size", type=int, default=32 * MEBIBYTE)
    suite = commands.add_parser("suite")
    suite.add_argument("url")
    suite.add_argument("--ca")
    suite.add_argument("--no-compression", action="store_true")
    suite.add_argument("--lines", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "echo-server":
        asyncio.run(echo_server(arguments))
    else:
        sys.exit(asyncio.run(Suite(arguments).run()))


if __name__ == "__main__":
    main()
