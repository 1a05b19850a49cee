#!/usr/bin/env python3
"""Headless Chromium as a peer: serves chromium.html, opens it, and prints the results of the page's suite.

chromium.py suite URL

The browser's debugging protocol controls the page. It is JSON over a WebSocket.
"""
import asyncio
import functools
import http.server
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

from websockets.asyncio.client import connect

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve_pages():
    """Serves this directory on a free port and returns the port."""
    handler = functools.partial(QuietHandler, directory=pathlib.Path(__file__).parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


async def debugging_address(profile, browser):
    """Chromium writes the port and path of its debugging socket to a file once it is ready."""
    path = pathlib.Path(profile, "DevToolsActivePort")
    for _ in range(300):
        if browser.poll() is not None:
            raise RuntimeError(f"Chromium ended with status {browser.returncode}")
        if path.exists() and len(path.read_text().split()) == 2:
            port, address = path.read_text().split()
            return f"ws://127.0.0.1:{port}{address}"
        await asyncio.sleep(0.1)
    raise RuntimeError("Chromium did not start in 30 s")


class Browser:
    """Sends commands of the debugging protocol and waits for answers and events."""

    def __init__(self, connection):
        self.connection = connection
        self.ids = itertools.count(1)
        self.events = set()

    async def command(self, method, session=None, **parameters):
        identifier = next(self.ids)
        request = {"id": identifier, "method": method, "params": parameters}
        await self.connection.send(json.dumps(request | ({"sessionId": session} if session else {})))
        while True:
            answer = json.loads(await self.connection.recv())
            self.events.add(answer.get("method"))
            if answer.get("id") == identifier:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    async def event(self, method):
        while method not in self.events:
            self.events.add(json.loads(await self.connection.recv()).get("method"))


async def run_suite(address, page, url):
    async with connect(address, max_size=None) as connection:
        browser = Browser(connection)
        target = await browser.command("Target.createTarget", url="about:blank")
        attached = await browser.command("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        session = attached["sessionId"]
        await browser.command("Page.enable", session)
        await browser.command("Page.navigate", session, url=page)
        await browser.event("Page.loadEventFired")
        expression = f"suite({json.dumps(url)})"
        answer = await browser.command("Runtime.evaluate", session, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", answer["exceptionDetails"]["text"]))
        return answer["result"]["value"]


async def main():
    if len(sys.argv) != 3 or sys.argv[1] != "suite":
        sys.exit("usage: chromium.py suite URL")
    page = f"http://127.0.0.1:{serve_pages()}/chromium.html"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["chromium", *FLAGS, f"--user-data-dir={profile}"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            lines = await run_suite(await debugging_address(profile, browser), page, sys.argv[2].rstrip("/"))
        finally:
            browser.terminate()
            browser.wait()
    print("\n".join(lines))
    sys.exit(any(line.startswith("not ok") for line in lines))


if __name__ == "__main__":
    asyncio.run(main())
