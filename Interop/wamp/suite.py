"""suite.py URL REALM [SERIALIZER,…] [--crossbar] [--auth] [--history]: autobahn-python at both ends of a router. Prints a line per check.

With --crossbar, Crossbar's own behaviour and its configuration here are expected. With --auth, the router also
knows joe by a ticket (secret!!!) and peter by WAMP-CRA (secret123). With --history, it keeps the last events of com.history.exact.
"""

import asyncio
import os
import sys
import traceback
from contextlib import contextmanager

from autobahn.wamp import message
from autobahn.wamp.exception import ApplicationError
from autobahn.wamp.types import CallOptions, PublishOptions, RegisterOptions, SubscribeOptions
from partner import Partner
from peer import Refused, join, leave

VALUES = [
    None, True, False, 0, -1, 127, 128, 255, 65536, -32769, 2**31, 2**53, -(2**53), 0.5, -1e300, "", "plain", "Grüße, 世界 🌍", "a\u0000b", [], {},
    [1, [2, [3, {"a": [None]}]]], {"": 1, "ключ": {"b": [True]}},
]
checks = []


def everywhere(world):
    return True


def at_crossbar(world):
    return world.crossbar


def elsewhere(world):
    return not world.crossbar


def check(name, where=everywhere):
    def add(function):
        checks.append((name, where, function))
        return function

    return add


class Heard:
    """A subscription and its events."""

    def __init__(self):
        self.events = asyncio.Queue()

    async def __call__(self, *args, details=None, **kwargs):
        self.events.put_nowait((list(args), kwargs, details))

    async def next(self):
        return await asyncio.wait_for(self.events.get(), 5)

    async def take(self, count):
        return [(await self.next())[0] for _ in range(count)]


async def subscribe(session, topic, **options):
    heard = Heard()
    heard.subscription = await session.subscribe(heard, topic, options=SubscribeOptions(details=True, **options))
    return heard


async def refusal(awaitable):
    """The URI of the error of a request."""
    try:
        result = await awaitable
    except ApplicationError as error:
        return error.error
    raise AssertionError(f"not refused: {result!r}")


@contextmanager
def disclosing(wish):
    """Messages sent within have the option `disclose_me`, which autobahn does not offer. None: without the option."""
    plain = {kind: kind.marshal_options for kind in (message.Call, message.Publish)}
    for kind, marshal in plain.items():
        if wish is not None:
            kind.marshal_options = lambda self, marshal=marshal: {**marshal(self), "disclose_me": wish}
    try:
        yield
    finally:
        for kind, marshal in plain.items():
            kind.marshal_options = marshal


def equal(one, other):
    assert one == other, f"{one!r} instead of {other!r}"


class World:
    """Two sessions and a partner at one router."""

    def __init__(self, url, realm, serializer, flags):
        self.url, self.realm, self.serializer = url, realm, serializer
        self.crossbar, self.auth, self.history = ("--" + flag in flags for flag in ("crossbar", "auth", "history"))

    async def join(self, **secrets):
        return await join(self.url, self.realm, self.serializer, **secrets)

    async def begin(self):
        self.one, self.two, partner = await asyncio.gather(self.join(), self.join(), self.join())
        self.partner = Partner(partner)
        await self.partner.offer()

    async def end(self):
        await asyncio.gather(leave(self.one), leave(self.two), leave(self.partner.session))


@check("a call returns its result")
async def call(w):
    equal(await w.one.call("com.partner.add2", 23, 7), 30)


@check("values come back as they were sent")
async def values(w):
    for value in VALUES:
        equal(await w.one.call("com.partner.echo", value), value)


@check("bytes come back as they were sent")
async def binary(w):
    for value in [b"\x00", bytes(range(256))]:
        equal(await w.one.call("com.partner.echo", value), value)


@check("positional and keyword arguments return together")
async def keywords(w):
    result = await w.one.call("com.partner.echo", 1, 2, a=3, b=[4])
    equal((list(result.results), result.kwresults), ([1, 2], {"a": 3, "b": [4]}))


@check("a large payload comes back")
async def large(w):
    equal(await w.one.call("com.partner.echo", "x" * 1_000_000), "x" * 1_000_000)


@check("an error of the callee has its URI and arguments")
async def failure(w):
    try:
        await w.one.call("com.partner.fail", 1, "two")
        raise AssertionError("no error")
    except ApplicationError as error:
        equal((error.error, list(error.args), error.kwargs), ("com.partner.error.refused", [1, "two"], {"hint": "never"}))


@check("a call of an unregistered procedure is an error")
async def nobody(w):
    equal(await refusal(w.one.call("com.nobody.here")), "wamp.error.no_such_procedure")


@check("a hundred concurrent calls get their own results")
async def many(w):
    results = await asyncio.gather(*[w.one.call("com.partner.add2", number, 1000) for number in range(100)])
    equal(results, [number + 1000 for number in range(100)])


@check("a result comes in parts")
async def progress(w):
    parts = []
    result = await w.one.call("com.partner.count", 5, options=CallOptions(on_progress=parts.append))
    equal((parts, result), ([1, 2, 3, 4], 5))


@check("a call that is cancelled interrupts the callee")
async def cancel(w):
    begun, before = w.partner.beginnings, w.partner.interruptions
    pending = w.one.call("com.partner.slow")
    await w.partner.until(lambda: w.partner.beginnings > begun)
    pending.cancel()
    await w.partner.until(lambda: w.partner.interruptions > before)


@check("a caller that is lost interrupts the callee")
async def caller_lost(w):
    begun, before = w.partner.beginnings, w.partner.interruptions
    guest = await w.join()
    pending = asyncio.ensure_future(guest.call("com.partner.slow"))
    await w.partner.until(lambda: w.partner.beginnings > begun)
    guest._transport.abort()
    await w.partner.until(lambda: w.partner.interruptions > before)
    # Autobahn itself may leave the call pending.
    pending.cancel()


# Crossbar only forwards the timeout.
@check("a call ends at its timeout", elsewhere)
async def timeout(w):
    equal(await refusal(w.one.call("com.partner.slow", options=CallOptions(timeout=200))), "wamp.error.timeout")


@check("a call ends when its callee leaves")
async def callee_leaves(w):
    guest, called = await w.join(), asyncio.Event()

    async def never():
        called.set()
        await asyncio.sleep(30)

    await guest.register(never, "com.guest.never")
    pending = asyncio.ensure_future(w.one.call("com.guest.never"))
    await asyncio.wait_for(called.wait(), 5)
    guest._transport.close()
    error = await asyncio.wait_for(refusal(pending), 5)
    assert error.startswith("wamp.error."), error


@check("a procedure is registered once, and free after its unregistration")
async def registration(w):
    own = await w.one.register(lambda: 1, "com.once")
    equal(await refusal(w.two.register(lambda: 2, "com.once")), "wamp.error.procedure_already_exists")
    await own.unregister()
    equal(await refusal(w.two.call("com.once")), "wamp.error.no_such_procedure")
    other = await w.two.register(lambda: 2, "com.once")
    equal(await w.one.call("com.once"), 2)
    await other.unregister()


@check("procedures with a prefix or a pattern learn which URI was called")
async def patterns_of_procedures(w):
    equal((await w.one.call("com.partner.family.a.b"))[2], "com.partner.family.a.b")
    equal((await w.one.call("com.partner.happy.ending"))[2], "com.partner.happy.ending")


@check("shared registrations are called in turn")
async def sharing(w):
    options = RegisterOptions(invoke="roundrobin")
    own = [await w.one.register(lambda: "one", "com.shared", options), await w.two.register(lambda: "two", "com.shared", options)]
    results = [await w.partner.session.call("com.shared") for _ in range(6)]
    equal(sorted(results), ["one"] * 3 + ["two"] * 3)
    assert results[0] != results[1], results
    for each in own:
        await each.unregister()


@check("a caller is disclosed only on its request", elsewhere)
async def callers(w):
    for wish in (None, False, True):
        with disclosing(wish):
            told = w.one.call("com.partner.caller")
        equal((await told)[:2], [w.one.details.session, w.one.details.authid] if wish else [None, None])


@check("a publisher is disclosed only on its request", elsewhere)
async def publishers(w):
    heard = await subscribe(w.two, "com.confession")
    for wish in (None, False, True):
        with disclosing(wish):
            sent = w.one.publish("com.confession", options=PublishOptions(acknowledge=True))
        await sent
        equal((await heard.next())[2].publisher, w.one.details.session if wish else None)


@check("callers and publishers are disclosed only if configured", at_crossbar)
async def granted(w):
    for uri, told in [("com.partner.caller", None), ("com.disclosed.caller", w.one.details.session)]:
        equal((await w.one.call(uri))[0], told)
    for uri, told in [("com.secret.topic", None), ("com.disclosed.topic", w.one.details.session)]:
        heard = await subscribe(w.two, uri)
        await w.one.publish(uri, options=PublishOptions(acknowledge=True))
        equal((await heard.next())[2].publisher, told)


@check("events come in the order of their publication")
async def events(w):
    heard = await subscribe(w.one, "com.order")
    await w.partner.publish("com.order", count=200)
    equal(await heard.take(200), [[number] for number in range(200)])


@check("an event has positional and keyword arguments")
async def event_arguments(w):
    heard = await subscribe(w.one, "com.arguments")
    await w.partner.publish("com.arguments", [1, [2]], {"three": {"four": 5}})
    equal((await heard.next())[:2], ([1, [2]], {"three": {"four": 5}}))


@check("an event does not come back to its publisher, unless requested")
async def exclusion(w):
    heard = await subscribe(w.one, "com.own")
    await w.one.publish("com.own", 1, options=PublishOptions(acknowledge=True))
    await w.one.publish("com.own", 2, options=PublishOptions(acknowledge=True, exclude_me=False))
    equal(await heard.take(1), [[2]])


@check("an event reaches eligible sessions, and not excluded ones")
async def audience(w):
    one, two = await subscribe(w.one, "com.audience"), await subscribe(w.two, "com.audience")
    first, second = w.one.details.session, w.two.details.session
    await w.partner.publish("com.audience", [1], exclude=[first])
    await w.partner.publish("com.audience", [2], eligible=[first])
    await w.partner.publish("com.audience", [3], exclude_authid=[w.one.details.authid])
    await w.partner.publish("com.audience", [4], eligible_authrole=["nobody"])
    await w.partner.publish("com.audience", [5], eligible_authrole=[w.one.details.authrole])
    await w.partner.publish("com.audience", [6], eligible=[first, second], exclude=[second])
    await w.partner.publish("com.audience", [7])
    equal(await one.take(4), [[2], [5], [6], [7]])
    equal(await two.take(4), [[1], [3], [5], [7]])


@check("subscriptions with a prefix or a pattern get events with their topics")
async def patterns_of_topics(w):
    prefix = await subscribe(w.one, "com.news.", match="prefix")
    wildcard = await subscribe(w.two, "com..today", match="wildcard")
    await w.partner.publish("com.news.today", [1])
    await w.partner.publish("com.news.tomorrow", [2])
    await w.partner.publish("com.weather.today", [3])
    for heard, wanted in [(prefix, ["com.news.today", "com.news.tomorrow"]), (wildcard, ["com.news.today", "com.weather.today"])]:
        equal([(await heard.next())[2].topic for _ in wanted], wanted)


@check("an ended subscription gets no events")
async def unsubscribing(w):
    first, second = await subscribe(w.one, "com.gone"), await subscribe(w.two, "com.gone")
    await first.subscription.unsubscribe()
    await w.partner.publish("com.gone", [1])
    equal(await second.take(1), [[1]])
    await w.one.call("com.partner.add2", 1, 1)
    assert first.events.empty()


@check("a retained event reaches later subscribers that request it")
async def retained(w):
    await w.partner.publish("com.kept", [1], retain=True)
    await w.partner.publish("com.kept", [2], retain=True)
    heard = await subscribe(w.one, "com.kept", get_retained=True)
    equal(await heard.take(1), [[2]])
    without = await subscribe(w.two, "com.kept")
    await w.partner.publish("com.kept", [3])
    equal(await without.take(1), [[3]])


@check("the last events of a topic can be asked for", lambda w: w.history)
async def history(w):
    heard = await subscribe(w.one, "com.history.exact")
    for number in range(3):
        await w.partner.publish("com.history.exact", [number], {"in": w.serializer})
    await heard.take(3)
    past = await w.two.call("wamp.subscription.get_events", heard.subscription.id, limit=20)
    # By the specification as arguments, the oldest first. Crossbar returns a list, the newest first.
    past = past[::-1] if w.crossbar else list(past.results)
    equal([(event["args"], event["kwargs"]) for event in past[-3:]], [([number], {"in": w.serializer}) for number in range(3)])


@check("the meta API knows the sessions")
async def meta_sessions(w):
    ids = await w.one.call("wamp.session.list")
    assert {w.one.details.session, w.two.details.session} <= set(ids), ids
    equal(await w.one.call("wamp.session.count"), len(ids))
    equal((await w.one.call("wamp.session.get", w.two.details.session))["session"], w.two.details.session)
    # With a history store Crossbar also searches there, and fails.
    unknown = "wamp.error.runtime_error" if w.crossbar and w.history else "wamp.error.no_such_session"
    equal(await refusal(w.one.call("wamp.session.get", 1)), unknown)


@check("the meta API reports sessions that join and leave")
async def meta_events(w):
    joined, left = await subscribe(w.one, "wamp.session.on_join"), await subscribe(w.one, "wamp.session.on_leave")
    guest = await w.join()
    id = guest.details.session
    equal((await joined.next())[0][0]["session"], id)
    await leave(guest)
    equal((await left.next())[0][0], id)


@check("the meta API knows subscriptions and registrations")
async def meta_others(w):
    heard = await subscribe(w.one, "com.looked.up")
    id = await w.two.call("wamp.subscription.lookup", "com.looked.up")
    equal(id, heard.subscription.id)
    equal(await w.two.call("wamp.subscription.list_subscribers", id), [w.one.details.session])
    registration = await w.one.call("wamp.registration.lookup", "com.partner.add2")
    equal(await w.one.call("wamp.registration.match", "com.partner.add2"), registration)
    equal(await w.one.call("wamp.registration.list_callees", registration), [w.partner.session.details.session])


@check("a killed session gets the reason")
async def kill(w):
    guest = await w.join()
    await w.one.call("wamp.session.kill", guest.details.session, reason="com.test.because", message="because")
    equal(await asyncio.wait_for(guest.left, 5), "com.test.because")


@check("a testament is published when its session is lost")
async def testament(w):
    guest, heard = await w.join(), await subscribe(w.one, "com.last.will")
    await guest.call("wamp.session.add_testament", "com.last.will", ["farewell"], {})
    guest._transport.close()
    equal(await heard.take(1), [["farewell"]])


@check("a goodbye is answered")
async def goodbye(w):
    guest = await w.join()
    reason = await leave(guest)
    assert reason in ("wamp.close.goodbye_and_out", "wamp.close.normal"), reason


@check("right secrets are accepted, and wrong ones refused", lambda w: w.auth)
async def authentication(w):
    for method, secrets in [("ticket", {"authid": "joe", "ticket": "secret!!!"}), ("wampcra", {"authid": "peter", "secret": "secret123"})]:
        session = await w.join(method=method, **secrets)
        equal((session.details.authid, session.details.authmethod), (secrets["authid"], method))
        await leave(session)
        wrong = {key: value if key == "authid" else "wrong" for key, value in secrets.items()}
        try:
            await w.join(method=method, **wrong)
        except Refused as refused:
            assert refused.args[0].startswith("wamp.error."), refused
        else:
            raise AssertionError(f"{method} was let in with a wrong secret")


async def run(world):
    """Returns the number of failed checks."""
    await world.begin()
    failed = 0
    for name, where, function in checks:
        if not where(world):
            continue
        try:
            await asyncio.wait_for(function(world), 15)
            print(f"ok {world.serializer}: {name}", flush=True)
        except BaseException as error:
            failed += 1
            place = traceback.extract_tb(error.__traceback__)
            own = [frame.lineno for frame in place if frame.filename == __file__]
            line = own[-1] if own else "?"
            print(f"not ok {world.serializer}: {name}: {type(error).__name__} {error} (line {line})", flush=True)
    await world.end()
    return failed


async def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    url, realm, serializers = words[0], words[1], words[2] if len(words) > 2 else "msgpack"
    # Autobahn logs sessions that end with pending requests, which some checks cause.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    failed = 0
    for serializer in serializers.split(","):
        failed += await run(World(url, realm, serializer, sys.argv))
    sys.stdout.flush()
    os._exit(1 if failed else 0)


asyncio.run(main())
