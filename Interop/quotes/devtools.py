"""A page in headless Chromium, controlled over the debugging protocol, with a list of its errors."""
import asyncio
import base64
import contextlib
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent.parent), str(pathlib.Path(__file__).parent.parent / "peers")]
from chromium import FLAGS, debugging_address  # noqa: E402
from suite import PATIENCE  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402


class Page:
    """A tab. `errors`: the exceptions of its scripts and workers, and the violations of its content policy."""

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.errors = []

    async def command(self, method, **parameters):
        return await self.browser.command(method, self.session, **parameters)

    async def value(self, expression):
        """The value of a JavaScript expression, awaited if it is a promise."""
        answer = await self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    async def until(self, expression, seconds=PATIENCE):
        """Waits until the expression is true. Returns False at the timeout."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            # Between two documents evaluation fails.
            with contextlib.suppress(RuntimeError):
                if await self.value(expression):
                    return True
            await asyncio.sleep(0.1)
        return False

    async def screenshot(self, path):
        image = await self.command("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(image["data"]))

    async def close(self):
        await self.browser.command("Target.closeTarget", targetId=self.target)


class Browser:
    def __init__(self, connection):
        self.connection = connection
        self.ids = itertools.count(1)
        self.answers = {}
        self.pages = {}
        self.others = set()

    async def command(self, method, session=None, **parameters):
        identifier = next(self.ids)
        answer = self.answers[identifier] = asyncio.get_running_loop().create_future()
        request = {"id": identifier, "method": method, "params": parameters}
        await self.connection.send(json.dumps(request | ({"sessionId": session} if session else {})))
        return await asyncio.wait_for(answer, PATIENCE)

    async def listen(self):
        async for text in self.connection:
            message = json.loads(text)
            if "id" in message:
                answer = self.answers.pop(message["id"])
                if answer.done():
                    continue
                if "error" in message:
                    answer.set_exception(RuntimeError(message["error"]["message"]))
                else:
                    answer.set_result(message["result"])
            else:
                self.note(message)

    def note(self, message):
        method, parameters = message["method"], message["params"]
        page = self.pages.get(message.get("sessionId"))
        if page is None:
            return
        if method == "Target.attachedToTarget":
            worker = parameters["sessionId"]
            self.pages[worker] = page
            for enabling in ("Runtime.enable", "Log.enable", "Runtime.runIfWaitingForDebugger"):
                task = asyncio.ensure_future(self.command(enabling, worker))
                self.others.add(task)
                task.add_done_callback(self.others.discard)
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            page.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            page.errors.append(str([argument.get("value") for argument in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            # The browser itself logs that a WebSocket failed.
            if "WebSocket" not in parameters["entry"]["text"]:
                page.errors.append(parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))

    async def open(self, url, width=1280, height=800, scale=1, mobile=False, scheme="dark"):
        target = (await self.command("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.command("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for enabling in ("Page.enable", "Runtime.enable", "Log.enable"):
            await page.command(enabling)
        await page.command("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        await page.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        await page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await page.command("Page.navigate", url=url)
        return page


@contextlib.asynccontextmanager
async def chromium():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["chromium", *FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            async with connect(await debugging_address(profile, process), max_size=None) as connection:
                browser = Browser(connection)
                listening = asyncio.ensure_future(browser.listen())
                yield browser
                listening.cancel()
        finally:
            process.terminate()
            process.wait()
