"""partner.py URL REALM [SERIALIZER]: the other party of a suite, an app of autobahn-python that is controlled over WAMP.

Prints `ready`, and ends with its standard input.
"""

import asyncio
import sys

from autobahn.wamp.exception import ApplicationError
from autobahn.wamp.types import CallOptions, CallResult, PublishOptions, RegisterOptions, SubscribeOptions
from peer import join


class Partner:
    def __init__(self, session):
        self.session = session
        self.beginnings = 0
        self.interruptions = 0
        self.heard_events = {}
        self.news = asyncio.Condition()

    async def until(self, condition):
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(condition), 5)

    async def tell(self):
        async with self.news:
            self.news.notify_all()

    # The procedures.

    def add2(self, a, b):
        return a + b

    def echo(self, *args, **kwargs):
        return CallResult(*args, **kwargs)

    def fail(self, *args):
        raise ApplicationError("com.partner.error.refused", *args, hint="never")

    def count(self, to, details=None):
        for number in range(1, to):
            details.progress(number)
        return to

    async def slow(self):
        try:
            self.beginnings += 1
            await self.tell()
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.interruptions += 1
            await self.tell()
            raise

    async def begun(self, count):
        """How often `slow` has begun. Waits until this count."""
        await self.until(lambda: self.beginnings >= count)
        return self.beginnings

    async def interrupted(self, count):
        await self.until(lambda: self.interruptions >= count)
        return self.interruptions

    def caller(self, details=None):
        return [details.caller, details.caller_authid, details.procedure]

    def me(self):
        return self.session.details.session

    # The actions of the partner.

    async def relay(self, uri, args=(), kwargs=None, timeout=None, cancel_after=None):
        """Calls a procedure. The result describes the outcome."""
        parts = []
        options = CallOptions(on_progress=lambda *part: parts.append(list(part)), timeout=timeout)
        call = asyncio.ensure_future(self.session.call(uri, *args, options=options, **(kwargs or {})))
        if cancel_after is not None:
            await asyncio.sleep(cancel_after)
            call.cancel()
        try:
            result = await asyncio.wait_for(call, 10)
            # Autobahn returns a single value as it is, several in an object, and none as None.
            if not isinstance(result, CallResult):
                result = CallResult() if result is None else CallResult(result)
            return {"args": list(result.results or []), "kwargs": result.kwresults or {}, "parts": parts}
        except ApplicationError as error:
            return {"error": error.error, "args": list(error.args), "kwargs": error.kwargs or {}, "parts": parts}
        except asyncio.CancelledError:
            return {"error": "cancelled", "args": [], "kwargs": {}, "parts": parts}

    async def publish(self, topic, args=(), kwargs=None, count=1, **options):
        """Publishes `count` times. With more than one, the number of each is its first argument."""
        publication = None
        for number in range(count):
            own = [number, *args] if count > 1 else args
            last = number == count - 1
            sent = self.session.publish(topic, *own, options=PublishOptions(acknowledge=last, **options), **(kwargs or {}))
            if last:
                publication = (await sent).id
        return publication

    async def listen(self, topic, match="exact", get_retained=None):
        events = self.heard_events.setdefault(topic, [])

        async def hear(*args, details=None, **kwargs):
            events.append({"args": list(args), "kwargs": kwargs, "topic": details.topic or topic, "publisher": details.publisher})
            await self.tell()

        options = SubscribeOptions(match=match, details=True, get_retained=get_retained)
        return (await self.session.subscribe(hear, topic, options=options)).id

    async def heard(self, topic, count):
        events = self.heard_events[topic]
        await self.until(lambda: len(events) >= count)
        result = list(events)
        events.clear()
        return result

    async def offer(self):
        plain = ["add2", "echo", "fail", "slow", "begun", "interrupted", "me", "relay", "publish", "listen", "heard"]
        for name in plain:
            await self.session.register(getattr(self, name), f"com.partner.{name}")
        await self.session.register(self.count, "com.partner.count", options=RegisterOptions(details=True))
        await self.session.register(self.caller, "com.partner.caller", options=RegisterOptions(details=True))
        await self.session.register(self.caller, "com.disclosed.caller", options=RegisterOptions(details=True))
        await self.session.register(
            self.caller, "com.partner.family.", options=RegisterOptions(details=True, match="prefix"))
        await self.session.register(
            self.caller, "com.partner..ending", options=RegisterOptions(details=True, match="wildcard"))


async def main():
    url, realm, *rest = sys.argv[1:]
    session = await join(url, realm, *rest)
    await Partner(session).offer()
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    await asyncio.wait([loop.run_in_executor(None, sys.stdin.read), session.left], return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(main())
