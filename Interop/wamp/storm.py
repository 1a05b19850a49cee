"""storm.py URL REALM: autobahn-python's calls and events without a pause, while a script kills and restarts the router.

As `HoldfastPeer wamp storm` does, it prints `loaded` in each round when everything works again. After the last round it stops and checks
that nothing is pending. Autobahn leaves rejoining to the app.
"""

import asyncio
import os
import sys

from autobahn.wamp.exception import ApplicationError, TransportLost
from autobahn.wamp.types import PublishOptions
from peer import Refused, join

ROUNDS = 3
CALLERS = 4
# How many results and events must arrive after a loss.
ENOUGH = 100
PASSING = ("wamp.error.no_such_procedure", "wamp.error.canceled")


class Storm:
    def __init__(self, url, realm):
        self.url, self.realm = url, realm
        self.results = self.events = self.lost = self.refused = 0
        self.strange = []
        self.is_over = False

    def __str__(self):
        return f"{self.results} results, {self.events} events, {self.lost} lost, {self.refused} refused, {self.strange[:5]} strange"

    async def works(self):
        results, events = self.results, self.events
        while self.results < results + ENOUGH or self.events < events + ENOUGH:
            await asyncio.sleep(0.02)

    async def perform(self, party, make):
        """Makes a request of the party's session. Returns whether it is answered. Without an answer in a live session it hangs."""
        session = party.session
        if session is None:
            await asyncio.sleep(0.02)
            return None
        try:
            request = make(session)
            await asyncio.wait([request, session.left], timeout=5, return_when=asyncio.FIRST_COMPLETED)
            if request.done():
                return await request
            request.cancel()
            if session.left.done():
                self.lost += 1
            else:
                self.strange.append("no answer")
        except (TransportLost, asyncio.CancelledError):
            self.lost += 1
        except ApplicationError as error:
            # The callee has not returned yet, or was lost with the call.
            if error.error in PASSING:
                self.refused += 1
            else:
                self.strange.append(str(error))
        await asyncio.sleep(0.02)
        return None

    async def call(self, caller, number):
        while not self.is_over:
            result = await self.perform(caller, lambda session: session.call("com.python.add", number, 1))
            if result == number + 1:
                self.results += 1
            elif result is not None:
                self.strange.append(f"{number} + 1 is {result}")

    async def publish(self, callee):
        while not self.is_over:
            options = PublishOptions(acknowledge=True)
            await self.perform(callee, lambda session: session.publish("com.python.tick", options=options))

    def hear(self):
        self.events += 1


class Party:
    """A session that rejoins after every loss."""

    def __init__(self, storm, prepare):
        self.storm, self.prepare = storm, prepare
        self.session, self.losses = None, 0

    async def stay(self):
        while True:
            try:
                session = await join(self.storm.url, self.storm.realm)
                await self.prepare(session)
            except (OSError, Refused, TransportLost, asyncio.CancelledError, asyncio.TimeoutError):
                await asyncio.sleep(0.05)
                continue
            self.session = session
            await session.left
            self.session = None
            self.losses += 1


async def main():
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    storm = Storm(sys.argv[1], sys.argv[2])
    callee = Party(storm, lambda session: session.register(lambda a, b: a + b, "com.python.add"))
    caller = Party(storm, lambda session: session.subscribe(storm.hear, "com.python.tick"))
    # Stored, because the loop holds tasks weakly.
    storm.parties = [asyncio.ensure_future(party.stay()) for party in (callee, caller)]
    tasks = [asyncio.ensure_future(storm.call(caller, number)) for number in range(CALLERS)]
    tasks.append(asyncio.ensure_future(storm.publish(callee)))
    for turn in range(ROUNDS):
        what = f"all works again after loss {turn}" if turn else "all works"
        try:
            await asyncio.wait_for(storm.works(), 40)
        except asyncio.TimeoutError:
            print(f"not ok autobahn: {what}: {storm}", flush=True)
            os._exit(1)
        print(f"ok autobahn: {what}\nloaded", flush=True)
        while turn < ROUNDS - 1 and min(callee.losses, caller.losses) <= turn:
            await asyncio.sleep(0.02)
    storm.is_over = True
    _, hanging = await asyncio.wait(tasks, timeout=10)
    print("not ok" if hanging else "ok", "autobahn: no request is left pending")
    print("not ok" if storm.strange else "ok", f"autobahn: calls end with results or as lost: {storm}", flush=True)
    os._exit(1 if hanging or storm.strange else 0)


asyncio.run(main())
