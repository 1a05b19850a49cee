#!/usr/bin/env python3
"""Headless Chromium loads a page from a server over HTTPS, opens a WebSocket to the same server, and prints the answer.

chromium.py HTTPS-URL TEXT

Chromium opens a WebSocket over HTTP/2 only if it already has an HTTP/2 connection that announced support.
"""
import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "peers"))
from chromium import FLAGS, Browser, debugging_address  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402

SCRIPT = """new Promise((resolve, reject) => {
    const socket = new WebSocket(location.href.replace('https:', 'wss:'));
    socket.onopen = () => socket.send(%s);
    socket.onmessage = event => { socket.onclose = event2 => resolve(event.data + ' ' + event2.code); socket.close(1000); };
    socket.onclose = event => reject(new Error('closed with ' + event.code));
})"""


async def main(url, text):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["chromium", *FLAGS, "--ignore-certificate-errors", f"--user-data-dir={profile}"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            async with connect(await debugging_address(profile, browser), max_size=None) as connection:
                page = Browser(connection)
                target = await page.command("Target.createTarget", url="about:blank")
                session = (await page.command("Target.attachToTarget", targetId=target["targetId"], flatten=True))["sessionId"]
                await page.command("Page.enable", session)
                await page.command("Page.navigate", session, url=url)
                await page.event("Page.loadEventFired")
                answer = await page.command(
                    "Runtime.evaluate", session, expression=SCRIPT % json.dumps(text), awaitPromise=True, returnByValue=True)
                print(answer["result"].get("value") or answer["exceptionDetails"]["exception"]["description"])
        finally:
            browser.terminate()
            browser.wait()


asyncio.run(main(sys.argv[1], sys.argv[2]))
