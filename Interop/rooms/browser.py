#!/usr/bin/env python3
"""Opens the page of `holdfast serve hub` in Chromium and prints `ok NAME` or `not ok NAME: why` for what holds.

browser.py HOLDFAST SCREENSHOTS

The hub is real, and so are the faults: pages that are reloaded while they send, a network that is taken away, a hub that is killed.
"""
import asyncio
import collections
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import urllib.parse

from hub import Hub, Member, Swift, log_of
from playwright.async_api import async_playwright
from suite import PATIENCE, finish, report, run, running
from tokens import token

HOLDFAST = sys.argv[1]
SCREENSHOTS = pathlib.Path(sys.argv[2])
# Debian's own; Playwright's are not installed. Text of another machine's fonts is no error of the page.
CHROMIUM = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]}
LIVE = "document.body.dataset.state === 'live'"
# What is shown, in order: the text without the words for the time and the tick, and the tick.
SHOWN = """[...document.querySelectorAll('#messages .message')].map((message) => ({
    id: message.dataset.id, stage: message.dataset.stage, own: message.classList.contains('own'),
    text: [...message.querySelector('.bubble').childNodes].filter((node) => node.className !== 'meta')
        .map((node) => node.textContent).join(''),
}))"""
# Sends, and notes for after a reload what was said to be queued: its promise was kept, so it must not be lost.
SEND = """async (words) => {
    for (const text of words) {
        rooms.client.send(rooms.room, { type: 'chat.text', body: { text } })
            .then(({ id }) => localStorage.setItem(`queued ${id}`, text), () => {});
        await new Promise((done) => setTimeout(done, 2));
    }
}"""
QUEUED = "Object.entries(localStorage).filter(([key]) => key.startsWith('queued ')).map(([key, text]) => [key.slice(7), text])"
CONTRAST = (pathlib.Path(__file__).parent / "contrast.js").read_text()
STORES = (pathlib.Path(__file__).parent / "stores.js").read_text()


class Tab:
    """A page whose errors are kept. That the network failed is said to the console by the browser itself."""

    def __init__(self, page):
        self.page, self.errors = page, []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self.note)

    def note(self, message):
        is_network = "WebSocket connection to" in message.text or "net::ERR_" in message.text
        if message.type in ("error", "warning") and not is_network:
            self.errors.append(message.text)

    async def until(self, expression, seconds=PATIENCE):
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            # Between two documents there is nothing to ask.
            with contextlib.suppress(Exception):
                if await self.page.evaluate(expression):
                    return True
            await asyncio.sleep(0.1)
        return False

    async def shown(self):
        return await self.page.evaluate(SHOWN)

    async def texts(self):
        return [message["text"] for message in await self.shown()]

    async def shows(self, *texts):
        """Waits until the last messages are these."""
        last = f"{SHOWN}.map(({{ text }}) => text).slice(-{len(texts)})"
        return await self.until(f"JSON.stringify({last}) === JSON.stringify({json.dumps(texts)})")

    async def say(self, text):
        await self.page.fill("#words", text)
        await self.page.press("#words", "Enter")

    async def picture(self, name):
        await self.page.screenshot(path=SCREENSHOTS / f"rooms-{name}.png")


class Browser:
    """Each context is a browser of its own person, with storage of its own."""

    def __init__(self, chromium, hub):
        self.chromium, self.hub = chromium, hub

    async def context(self, **options):
        return await self.chromium.new_context(viewport={"width": 1280, "height": 800}, **options)

    async def tab(self, context, name, room):
        tab = Tab(await context.new_page())
        await tab.page.goto(f"{self.hub.url}/#room={room}&name={name}")
        return tab

    async def joined(self, name, room, **options):
        context = await self.context(**options)
        tab = await self.tab(context, name, room)
        if not await tab.until(LIVE):
            raise RuntimeError(f"{name} is not live: {await tab.page.evaluate('document.body.dataset.state')}, {tab.errors}")
        return tab


def quiet(*tabs):
    report(not any(tab.errors for tab in tabs), "no script complained", [tab.errors[:3] for tab in tabs])


async def agreement(hub, room, what, *tabs):
    """All show what the hub has, each message once, in its order; in the end nothing waits."""
    calm = True
    for tab in tabs:
        calm = calm and await tab.until(f"{LIVE} && rooms.client.waiting === 0")
    why = [await tab.page.evaluate("[rooms.client.state, rooms.client.waiting]") for tab in tabs]
    report(calm, f"{what}: nothing waits any more", why)
    log = await log_of(hub, room)
    ids = [entry["id"] for entry in log]
    report(len(ids) == len(set(ids)), f"{what}: nothing is stored twice", [i for i, count in collections.Counter(ids).items() if count > 1])
    wanted = [entry["id"] for entry in log if entry["type"] == "chat.text"]
    for number, tab in enumerate(tabs):
        # A page that was reloaded begins with the last ones.
        expression = f"""((shown, wanted) => rooms.client.room(rooms.room).seq === {len(log)} && shown.length >= Math.min(50, wanted.length)
            && JSON.stringify(shown) === JSON.stringify(wanted.slice(-shown.length))
            )({SHOWN}.map(({{ id }}) => id), {json.dumps(wanted)})"""
        name = f"{what}: page {number + 1} shows the {len(wanted)} messages, each once, in the one order"
        report(await tab.until(expression), name, await tab.texts())
    return log


async def conversation(browser, hub):
    ann = await browser.joined("Ann", "lobby", color_scheme="light")
    bob = await browser.joined("Bob", "lobby", color_scheme="dark", is_mobile=True, has_touch=True, device_scale_factor=2)
    await bob.page.set_viewport_size({"width": 390, "height": 844})
    async with Member(hub, "lobby", "Eve") as eve:
        three = "document.querySelectorAll('#members li').length === 3"
        report(await ann.until(three) and await bob.until(three), "both pages see all three who are present")
        seen = await eve.until(lambda: {member["user"] for member in eve.members.values()} == {"Ann", "Bob", "Eve"})
        report(seen, "and the third sees the pages", eve.members)

        await ann.say("Hello, all. Is the release out?")
        await bob.shows("Hello, all. Is the release out?")
        await bob.say("Yes, since five minutes ago. The notes are at https://example.org/notes.")
        await ann.shows("Yes, since five minutes ago. The notes are at https://example.org/notes.")
        await eve.until(lambda: len(eve.texts) == 2)
        await eve.send("Good. A longer message breaks into lines, on a narrow phone as on a wide desktop, and the time stays at its end.")
        await ann.page.wait_for_selector("text=A longer message")
        await ann.say("Thanks!")
        await ann.say("I will close the ticket then.")
        texts = ["Hello, all. Is the release out?", "Yes, since five minutes ago. The notes are at https://example.org/notes.",
                 "Good. A longer message breaks into lines, on a narrow phone as on a wide desktop, and the time stays at its end.",
                 "Thanks!", "I will close the ticket then."]
        both = await ann.shows(*texts) and await bob.shows(*texts)
        both = both and await eve.until(lambda: eve.texts == texts)
        report(both, "messages go both ways, in one order for all", [await ann.texts(), eve.texts])
        seen = "[...document.querySelectorAll('.own .tick')].at(-1)?.title.includes('seen by Bob')"
        report(await ann.until(seen), "the tick says that Bob has seen it", await ann.shown())

        await bob.page.type("#words", "hm")
        typing = "document.getElementById('typing').textContent === 'Bob is typing…'"
        report(await ann.until(typing), "that Bob types is shown")
        report(await eve.until(lambda: ("Bob", True) in eve.typing), "and told to the third")
        await bob.page.fill("#words", "")
        report(await ann.until("document.getElementById('typing').textContent === ''"), "and is forgotten")

        await ann.page.press("#words", "ArrowUp")
        report(await ann.page.input_value("#words") == "I will close the ticket then.", "the up arrow takes the last message for editing")
        await ann.say("I will close the ticket now.")
        report(await bob.shows("I will close the ticket now."), "an edit reaches the other page")
        await ann.page.hover(".message >> nth=1")
        await ann.page.click(".message >> nth=1 >> .actions [data-key='👍']")
        reacted = "document.querySelector('.reactions button')?.getAttribute('aria-label') === '👍 by Ann'"
        report(await bob.until(reacted), "a reaction, too")
        await bob.say("Wrong window, sorry")
        await ann.shows("Wrong window, sorry")
        await bob.page.tap(".message >> nth=-1 >> .bubble")
        await bob.page.click(".message >> nth=-1 >> .actions [data-order=delete]")
        report(await ann.shows("This message was deleted."), "and a deletion")
        await eve.send("See you tomorrow.")
        await ann.shows("See you tomorrow.")

        await ann.page.click("#offline")
        await ann.say("This one waits until I am back.")
        waits = await ann.until("document.querySelector('#messages .message:last-child').dataset.stage === 'queued'")
        report(waits, "what is said offline is shown as waiting", await ann.shown())
        await ann.picture("offline")
        await ann.page.click("#offline")
        report(await bob.shows("This one waits until I am back."), "and goes out when the page is online again")
        await eve.say(t="typ", room="lobby", on=True)
        await ann.until("document.getElementById('typing').textContent === 'Eve is typing…'")
        await ann.page.mouse.move(5, 400)
        await ann.picture("desktop-light")
        await bob.picture("phone-dark")
        await ann.page.emulate_media(color_scheme="dark")
        await bob.page.emulate_media(color_scheme="light")
        await asyncio.sleep(0.3)
        await ann.picture("desktop-dark")
        await bob.page.tap("#show-people")
        await bob.picture("phone-light")
        await bob.page.tap("#show-people")
        for tab, name in ((ann, "desktop"), (bob, "phone")):
            for scheme in ("light", "dark"):
                await tab.page.emulate_media(color_scheme=scheme)
                await asyncio.sleep(0.3)
                poor = await tab.page.evaluate(CONTRAST)
                report(not poor, f"{name}, {scheme}: all text has a contrast of 4.5 at least", poor)
            nameless = await tab.page.evaluate("""[...document.querySelectorAll('button, input, textarea, a, [role=region]')]
                .filter((part) => part.getClientRects().length > 0 && !(part.getAttribute('aria-label') || part.labels?.length
                    || part.textContent.trim())).map((part) => part.outerHTML.slice(0, 100))""")
            report(not nameless, f"{name}: every control has a name", nameless)
            report(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: fits the window")
        await agreement(hub, "lobby", "a conversation", ann, bob)
        quiet(ann, bob)
    gone = "document.querySelectorAll('#members li').length === 2"
    report(await ann.until(gone), "who has left is gone from the list")
    await ann.page.context.close()
    await bob.page.context.close()


async def door(browser, hub):
    tab = Tab(await (await browser.context(color_scheme="light")).new_page())
    await tab.page.goto(hub.url)
    await tab.page.fill("#room", "")
    await tab.page.fill("#name", "Ann")
    await tab.picture("door")
    poor = await tab.page.evaluate(CONTRAST)
    report(not poor, "the door: all text has a contrast of 4.5 at least", poor)
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.type("quiet corner")
    await tab.page.keyboard.press("Enter")
    # Pressed twice, it leads there once.
    await tab.page.evaluate("document.getElementById('join').requestSubmit()")
    report(await tab.until(LIVE), "the keyboard alone leads into a room", tab.errors)
    alone = "document.querySelector('#members li[data-user=Ann] small')?.textContent === 'you'"
    report(await tab.until(alone), "once", await tab.page.inner_text("#members"))
    await tab.page.keyboard.type("first words")
    await tab.page.keyboard.press("Enter")
    report(await tab.shows("first words"), "and says something there")
    await tab.page.reload()
    report(await tab.until(LIVE) and await tab.shows("first words"), "a reload leads back into the room, and what was said is there")
    await tab.say("x" * 70_000)
    told = "document.getElementById('banner').textContent === 'A message may have at most 65536 bytes.'"
    report(await tab.until(told), "what is too long is refused in words", await tab.page.inner_text("#banner"))
    await asyncio.sleep(1.5)
    kept = await tab.page.evaluate(told) and len(await tab.page.input_value("#words")) == 70_000
    report(kept, "which stay long enough to be read, as what was written does")
    quiet(tab)
    await tab.page.context.close()


async def history(browser, hub):
    async with Member(hub, "archive", "Eve") as eve:
        for number in range(1, 181):
            await eve.send(f"{number}")
            # What waits for an ack is bounded.
            if number % 20 == 0:
                await eve.until(lambda: len(eve.entries) >= number)
        tab = await browser.joined("Ann", "archive", color_scheme="dark")
        report(await tab.shows("179", "180") and len(await tab.shown()) == 50, "a page begins with the last 50", await tab.texts())
        for _ in range(PATIENCE):
            await tab.page.evaluate("document.getElementById('scroll').scrollTop = 0")
            if await tab.until("document.getElementById('beginning').getClientRects().length > 0", 1):
                break
        texts = await tab.texts()
        report(texts == [f"{number}" for number in range(1, 181)], "scrolling up loads all there is, in order", texts[:5])
        await eve.send("news")
        told = "document.getElementById('newest-text').textContent === '1 new'"
        report(await tab.until(told), "what comes meanwhile is announced, not scrolled to")
        await tab.page.click("#newest")
        report(await tab.until("document.getElementById('newest').hidden"), "and one click leads there")
        await tab.page.context.set_offline(True)
        await tab.page.click("#offline")
        await tab.page.evaluate("""rooms.client.earlier(rooms.room, 100, 30)
            .then(({ items }) => globalThis.kept = items.map(({ seq }) => seq))""")
        wanted = list(range(70, 100))
        kept = await tab.until(f"JSON.stringify(globalThis.kept) === JSON.stringify({json.dumps(wanted)})")
        report(kept, "history is read without a network", await tab.page.evaluate("globalThis.kept"))
        quiet(tab)
        await tab.page.context.close()


async def reloads(browser, hub):
    room = "reloads"
    ann = await browser.joined("Ann", room)
    bob = await browser.joined("Bob", room)
    for attempt in range(12):
        with contextlib.suppress(Exception):
            sending = asyncio.ensure_future(ann.page.evaluate(SEND, [f"{attempt}.{number}" for number in range(12)]))
            await asyncio.sleep(attempt * 0.004)
            await ann.page.reload()
            sending.cancel()
        await ann.until("globalThis.rooms?.client.state !== undefined")
    log = await agreement(hub, room, "12 reloads in mid-send", ann, bob)
    queued = dict(await ann.page.evaluate(QUEUED))
    lost = set(queued) - {entry["id"] for entry in log}
    report(len(queued) > 20 and not lost, f"12 reloads in mid-send: all {len(queued)} that were said to be queued are stored", lost)
    own = [entry["body"]["text"] for entry in log]
    places = [tuple(map(int, text.split("."))) for text in own]
    report(places == sorted(places), "12 reloads in mid-send: in the order in which they were said", own)
    report(len({entry["device"] for entry in log}) == 1, "12 reloads in mid-send: by one device")
    quiet(ann, bob)
    await ann.page.context.close()
    await bob.page.context.close()


async def lost_networks(browser, hub):
    room = "networks"
    ann = await browser.joined("Ann", room)
    bob = await browser.joined("Bob", room)
    await ann.page.context.set_offline(True)
    for number in range(5):
        await ann.say(f"ann {number}")
        await bob.say(f"bob {number}")
    report(await bob.until("document.querySelectorAll('.message').length >= 5"), "the other goes on")
    gone = await ann.until("document.body.dataset.state !== 'live'")
    report(gone, "a page without a network notices it", await ann.page.evaluate("document.body.dataset.state"))
    await ann.page.context.set_offline(False)
    await agreement(hub, room, "a network that was away", ann, bob)
    for number in range(10):
        await ann.page.evaluate(SEND, [f"cut {number}.{part}" for part in range(5)])
        await ann.page.evaluate("document.getElementById('cut').click()")
        await asyncio.sleep(0.05)
    log = await agreement(hub, room, "10 cuts while sending", ann, bob)
    queued = dict(await ann.page.evaluate(QUEUED))
    report(len(queued) == 50 and set(queued) <= {entry["id"] for entry in log}, "10 cuts while sending: all 50 are stored", len(queued))
    quiet(ann, bob)
    await ann.page.context.close()
    await bob.page.context.close()


async def killed_hubs(browser, hub):
    room = "kills"
    async with Swift(hub, room, "Sven") as sven:
        await killed(browser, hub, room, sven)


async def killed(browser, hub, room, sven):
    ann = await browser.joined("Ann", room)
    bob = await browser.joined("Bob", room)
    for number in range(6):
        words = {tab: [f"{name} {number}.{part}" for part in range(15)] for tab, name in ((ann, "ann"), (bob, "bob"))}
        sending = [asyncio.ensure_future(tab.page.evaluate(SEND, said)) for tab, said in words.items()]
        await asyncio.sleep(0.01 + number * 0.015)
        await hub.kill()
        await asyncio.gather(*sending)
        await hub.start()
        if number == 5:
            # What was not yet said to be queued may go with the page.
            await ann.until(f"{QUEUED}.length === 90")
            await ann.page.reload()
        await ann.until(LIVE)
    log = await agreement(hub, room, "6 hubs killed with -9", ann, bob)
    queued = dict(await ann.page.evaluate(QUEUED)) | dict(await bob.page.evaluate(QUEUED))
    lost = set(queued) - {entry["id"] for entry in log}
    report(len(queued) == 180 and not lost, f"6 hubs killed with -9: all {len(queued)} messages are stored", lost)
    for name in ("ann", "bob"):
        said = [tuple(map(int, entry["body"]["text"].split()[1].split("."))) for entry in log if entry["body"]["text"].startswith(name)]
        report(said == sorted(said), f"6 hubs killed with -9: what {name} said is in the order in which it was said", said)
    await hub.stop()
    await hub.start()
    await ann.say("after a hub that stopped")
    report(await bob.shows("after a hub that stopped"), "a hub that stops in peace is found again, too")
    await sven.send("from Swift")
    report(await ann.shows("from Swift") and await bob.shows("from Swift"), "a client in Swift is heard by both pages")
    ids = [entry["id"] for entry in await log_of(hub, room)]
    heard = await sven.until(lambda: len(sven.ids) >= len(ids)) and sven.ids == ids
    report(heard, "it has heard all, each once, in the one order", f"{len(sven.ids)} of {len(ids)}")
    quiet(ann, bob)
    await ann.page.context.close()
    await bob.page.context.close()


async def two_tabs(browser, hub):
    room = "tabs"
    first = await browser.joined("Ann", room)
    context = first.page.context
    second = await browser.tab(context, "Ann", room)
    await second.until(LIVE)
    devices = [await tab.page.evaluate("rooms.client.device") for tab in (first, second)]
    report(devices[0] != devices[1], "two tabs of one browser are two devices", devices)
    await first.page.evaluate(SEND, [f"first {number}" for number in range(10)])
    await second.page.evaluate(SEND, [f"second {number}" for number in range(10)])
    both = "document.querySelector('#members li[data-user=Ann] small').textContent"
    report(await first.until(f"{both} === 'you, 2 connections'"), "which are one person", await first.page.evaluate(both))
    await agreement(hub, room, "two tabs", first, second)
    await second.page.click("#offline")
    await second.say("left behind")
    # No hub takes a message as old as that.
    await second.page.evaluate("""() => {
        const now = Date.now;
        Date.now = () => 1000;
        return rooms.client.send(rooms.room, { type: "x", body: { text: "refused" } }).finally(() => { Date.now = now; });
    }""")
    await second.until("rooms.client.waiting === 2")
    await second.page.close()
    adopted = f"{SHOWN}.some(({{ stage, text }}) => stage === 'failed' && text === 'refused')"
    report(await first.until(adopted), "what is refused of that which a closed tab left is shown by the other one", await first.shown())
    await first.page.click("[data-order=discard]")
    report(await first.shows("left behind"), "and the rest is sent")
    log = await agreement(hub, room, "a tab that was closed", first)
    said = [entry for entry in log if entry["body"]["text"] == "left behind"]
    report([entry["device"] for entry in said] == [devices[1]], "under its own device, once", said)
    third = await browser.tab(context, "Ann", room)
    same = await third.until(LIVE) and await third.page.evaluate("rooms.client.device") == devices[1]
    report(same, "a new tab takes the place that is free")
    quiet(first, third)
    await context.close()


async def strangers(browser, hub):
    ann = await browser.joined("Ann", "borrowed")
    async with Member(hub, "borrowed", "Eve") as eve:
        await ann.say("mine")
        await eve.until(lambda: len(eve.entries) == 1)
        await eve.send("not mine", name=eve.entries[0]["id"])
        report(await ann.shows("mine", "not mine"), "who borrows the id of a message does not take its place", await ann.texts())
        await ann.page.click("#offline")
        await ann.say("waits")
        await ann.shows("mine", "not mine", "waits")
        await eve.send("came first", name=(await ann.shown())[-1]["id"])
        await eve.until(lambda: len(eve.entries) == 3)
        await ann.page.click("#offline")
        texts = ["mine", "not mine", "came first", "waits"]
        report(await ann.shows(*texts), "nor that of one which still waits", await ann.texts())
        stages = [message["stage"] for message in await ann.shown() if message["own"]]
        report(await ann.until("rooms.client.waiting === 0"), "which is stored as well", stages)
    quiet(ann)
    await ann.page.context.close()


async def long_talk(browser, hub):
    ann = await browser.joined("Ann", "talk")
    async with Member(hub, "talk", "Eve") as eve:
        for number in range(1, 701):
            await eve.send(f"{number}")
            if number % 20 == 0:
                await eve.until(lambda: len(eve.entries) >= number)
        kept = await ann.shows("699", "700") and len(await ann.shown()) <= 600
        report(kept, "a page keeps the end of a long talk", len(await ann.shown()))
        for _ in range(PATIENCE):
            await ann.page.evaluate("document.getElementById('scroll').scrollTop = 0")
            if await ann.until("document.getElementById('beginning').getClientRects().length > 0", 1):
                break
        whole = await ann.texts() == [f"{number}" for number in range(1, 701)]
        report(whole, "the rest is there when it is scrolled to", len(await ann.shown()))
    quiet(ann)
    await ann.page.context.close()


async def tokens(browser, _):
    with tempfile.TemporaryDirectory() as directory:
        secret = pathlib.Path(directory) / "secret"
        secret.write_bytes(os.urandom(32))
        async with running(Hub(HOLDFAST, pathlib.Path(directory) / "data", "--secret-file", str(secret))) as hub:
            await signed(browser, hub, lambda user, seconds: token(secret.read_bytes(), user, seconds, {"signed": "rwp"}))


async def signed(browser, hub, token):
    tab = Tab(await (await browser.context(color_scheme="light")).new_page())
    await tab.page.goto(f"{hub.url}/#{urllib.parse.urlencode({'room': 'signed', 'name': 'J', 'token': token('Jürgen', 50)})}")
    report(await tab.until(LIVE), "a token leads in", tab.errors)
    report("eyJ" not in tab.page.url, "and does not stay in the address", tab.page.url)
    await tab.say("grüezi")
    own = f"{SHOWN}.some(({{ own, stage, text }}) => own && stage === 'stored' && text === 'grüezi')"
    report(await tab.until(own), "who speaks is who the token names", await tab.shown())
    connection = await tab.page.evaluate("rooms.client.welcome.conn")
    soon = "document.getElementById('banner').textContent.startsWith('Your token expires soon.')"
    report(await tab.until(soon), "that it ends soon is said", await tab.page.inner_text("#banner"))
    await tab.page.click("#banner button")
    await tab.page.fill("#token", token("Ann", 60))
    await tab.page.keyboard.press("Enter")
    wrong = "document.getElementById('door-error').textContent.startsWith('This token is for Ann.')"
    report(await tab.until(wrong), "the token of another is not taken", await tab.page.inner_text("#door"))
    await tab.picture("token")
    ends = await tab.page.evaluate("rooms.client.tokenEnds")
    await tab.page.fill("#token", token("Jürgen", 5))
    await tab.page.keyboard.press("Enter")
    renewed = await tab.until(f"rooms.client.tokenEnds < {ends}") and await tab.page.evaluate("rooms.client.welcome.conn") == connection
    report(renewed, "another one is told on the same connection", await tab.page.evaluate("[rooms.client.state, rooms.client.tokenEnds]"))
    ended = "document.getElementById('banner').textContent.startsWith('Your token has expired.')"
    report(await tab.until(ended), "that it has ended is said", await tab.page.inner_text("#banner"))
    await tab.say("after the end")
    await tab.shows("grüezi", "after the end")
    await tab.picture("token-ended")
    await tab.page.click("#banner button")
    await tab.page.fill("#token", token("Jürgen", 3600))
    await tab.page.keyboard.press("Enter")
    back = await tab.until(f"{LIVE} && rooms.client.waiting === 0 && document.getElementById('banner').hidden")
    sent = back and await tab.shows("grüezi", "after the end")
    report(sent, "a new token leads back, and what was written meanwhile is sent", await tab.shown())
    await tab.page.reload()
    door = "document.body.dataset.view === 'door' && document.activeElement.id === 'token'"
    report(await tab.until(door), "a reload asks for the token again")
    quiet(tab)
    await tab.page.context.close()


async def stores(browser, hub):
    tab = Tab(await (await browser.context()).new_page())
    await tab.page.goto(hub.url)
    for seed in (1, 2, 3):
        why = await tab.page.evaluate(f"({STORES})({seed})")
        report(why is None, f"IndexedDB does what the plain store does, seed {seed}", why)
    quiet(tab)
    await tab.page.context.close()


async def status(browser, hub):
    tab = Tab(await (await browser.context(color_scheme="dark")).new_page())
    await tab.page.goto(f"{hub.url}/status")
    report(await tab.until(LIVE), "figures come in", await tab.page.inner_text("#link-text"))
    ann = await browser.joined("Ann", "busy")
    report(await tab.until("Number(document.getElementById('connections').textContent) >= 1"), "the connection of a page is counted")
    for number in range(12):
        await ann.page.evaluate(SEND, [f"{number}.{part}" for part in range(20 + 10 * (number % 3))])
        await asyncio.sleep(1)
    lines = "[...document.querySelectorAll('figure path.line-0')].every((path) => path.getAttribute('d').length > 40)"
    report(await tab.until(lines), "each chart has its line", await tab.page.evaluate("JSON.stringify(globalThis.status?.last)"))
    for scheme in ("light", "dark"):
        await tab.page.emulate_media(color_scheme=scheme)
        await asyncio.sleep(0.3)
        poor = await tab.page.evaluate(CONTRAST)
        report(not poor, f"status, {scheme}: all text has a contrast of 4.5 at least", poor)
        await tab.picture(f"status-{scheme}")
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    report(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "status fits a phone")
    await tab.picture("status-phone")
    await hub.kill()
    report(await tab.until("document.body.dataset.state === 'lost'"), "that the hub is away is said")
    await hub.start()
    report(await tab.until(LIVE), "and the figures come again")
    await agreement(hub, "busy", "a busy room", ann)
    quiet(tab, ann)
    await tab.page.context.close()
    await ann.page.context.close()


async def busiest_rooms(browser, hub):
    rooms = [{"room": f"<b>room {number}</b>", "members": 12 - number, "pace": number / 2} for number in range(10)]
    figures = {"now": 2000, "started": 1000, "rooms": 10, "busiest": {"members": rooms, "pace": rooms[::-1]}}
    tab = Tab(await (await browser.context(color_scheme="dark")).new_page())
    await tab.page.route("**/status/stream", lambda route: route.fulfill(
        body=f"data: {json.dumps(figures)}\n\n", headers={"content-type": "text/event-stream"}))
    await tab.page.goto(f"{hub.url}/status")
    told = "[...document.querySelectorAll('#by-%s tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    shown = await tab.until(f"{told % 'pace'}.length === 10")
    by_members, by_pace = await tab.page.evaluate(f"[{told % 'members'}, {told % 'pace'}]")
    good = shown and by_members[0] == ["<b>room 0</b>", "12", "0"] and by_pace[0] == ["<b>room 9</b>", "3", "4.5"]
    report(good, "the busiest rooms are shown, by their members and by their pace", [by_members[:1], by_pace[:1]])
    await tab.page.evaluate("document.getElementById('busiest').scrollIntoView()")
    for scheme in ("light", "dark"):
        await tab.page.emulate_media(color_scheme=scheme)
        poor = await tab.page.evaluate(CONTRAST)
        report(not poor, f"the busiest rooms, {scheme}: all text has a contrast of 4.5 at least", poor)
    await tab.picture("status-rooms")
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    report(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "and fit a phone")
    quiet(tab)
    await tab.page.context.close()


async def main():
    parts = (door, conversation, history, reloads, lost_networks, killed_hubs, two_tabs, strangers, long_talk, tokens, stores, status,
             busiest_rooms)
    wanted = [part for part in parts if len(sys.argv) <= 3 or part.__name__ in sys.argv[3:]]
    with tempfile.TemporaryDirectory() as directory:
        async with async_playwright() as playwright, running(Hub(HOLDFAST, pathlib.Path(directory) / "data")) as hub:
            chromium = await playwright.chromium.launch(**CHROMIUM)
            for part in wanted:
                if hub.has_ended:
                    await hub.start()
                await run([part], Browser(chromium, hub), hub)
            await chromium.close()
    finish()


asyncio.run(main())
