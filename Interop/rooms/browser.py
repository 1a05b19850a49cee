#!/usr/bin/env python3
"""Opens the page of `holdfast serve hub` in Chromium and prints `ok NAME` or `not ok NAME: why` per check.

browser.py HOLDFAST SCREENSHOTS

The hub and the faults are real: pages that are reloaded while they send, a network that is removed, a hub that is killed.
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
# Debian's Chromium, because Playwright's are not installed. Messages about missing fonts are no errors of the page.
CHROMIUM = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]}
LIVE = "document.body.dataset.state === 'live'"
# The displayed messages in order: the text without time and tick, and the tick.
SHOWN = """[...document.querySelectorAll('#messages .message')].map((message) => ({
    id: message.dataset.id, stage: message.dataset.stage, own: message.classList.contains('own'),
    text: [...message.querySelector('.bubble').childNodes].filter((node) => node.className !== 'meta')
        .map((node) => node.textContent).join(''),
}))"""
# Sends, and records for after a reload which messages were queued. Those must not be lost.
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
    """A page with a list of its errors. The browser itself logs that the network failed."""

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
            # Between two documents evaluation fails.
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
        """Waits until these are the last messages."""
        last = f"{SHOWN}.map(({{ text }}) => text).slice(-{len(texts)})"
        return await self.until(f"JSON.stringify({last}) === JSON.stringify({json.dumps(texts)})")

    async def say(self, text):
        await self.page.fill("#words", text)
        await self.page.press("#words", "Enter")

    async def picture(self, name):
        await self.page.screenshot(path=SCREENSHOTS / f"rooms-{name}.png")


class Browser:
    """Each context is a separate browser with its own storage."""

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
    report(not any(tab.errors for tab in tabs), "no script has an error", [tab.errors[:3] for tab in tabs])


async def agreement(hub, room, what, *tabs):
    """All pages show the hub's messages once and in order, and no message waits."""
    calm = True
    for tab in tabs:
        calm = calm and await tab.until(f"{LIVE} && rooms.client.waiting === 0")
    why = [await tab.page.evaluate("[rooms.client.state, rooms.client.waiting]") for tab in tabs]
    report(calm, f"{what}: no message waits", why)
    log = await log_of(hub, room)
    ids = [entry["id"] for entry in log]
    report(len(ids) == len(set(ids)), f"{what}: no duplicates", [i for i, count in collections.Counter(ids).items() if count > 1])
    wanted = [entry["id"] for entry in log if entry["type"] == "chat.text"]
    for number, tab in enumerate(tabs):
        # A reloaded page starts with the last messages.
        expression = f"""((shown, wanted) => rooms.client.room(rooms.room).seq === {len(log)} && shown.length >= Math.min(50, wanted.length)
            && JSON.stringify(shown) === JSON.stringify(wanted.slice(-shown.length))
            )({SHOWN}.map(({{ id }}) => id), {json.dumps(wanted)})"""
        name = f"{what}: page {number + 1} shows the {len(wanted)} messages once and in order"
        report(await tab.until(expression), name, await tab.texts())
    return log


async def conversation(browser, hub):
    ann = await browser.joined("Ann", "lobby", color_scheme="light")
    bob = await browser.joined("Bob", "lobby", color_scheme="dark", is_mobile=True, has_touch=True, device_scale_factor=2)
    await bob.page.set_viewport_size({"width": 390, "height": 844})
    async with Member(hub, "lobby", "Eve") as eve:
        three = "document.querySelectorAll('#members li').length === 3"
        report(await ann.until(three) and await bob.until(three), "both pages show all three members")
        seen = await eve.until(lambda: {member["user"] for member in eve.members.values()} == {"Ann", "Bob", "Eve"})
        report(seen, "the third member sees both pages", eve.members)

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
        report(both, "messages arrive in the same order for all", [await ann.texts(), eve.texts])
        seen = "[...document.querySelectorAll('.own .tick')].at(-1)?.title.includes('seen by Bob')"
        report(await ann.until(seen), "the tick says that Bob has seen it", await ann.shown())

        await bob.page.type("#words", "hm")
        typing = "document.getElementById('typing').textContent === 'Bob is typing…'"
        report(await ann.until(typing), "the page shows that Bob types")
        report(await eve.until(lambda: ("Bob", True) in eve.typing), "the third member learns that Bob types")
        await bob.page.fill("#words", "")
        report(await ann.until("document.getElementById('typing').textContent === ''"), "the typing indicator ends")

        await ann.page.press("#words", "ArrowUp")
        report(await ann.page.input_value("#words") == "I will close the ticket then.", "the up arrow takes the last message for editing")
        await ann.say("I will close the ticket now.")
        report(await bob.shows("I will close the ticket now."), "an edit reaches the other page")
        await ann.page.hover(".message >> nth=1")
        await ann.page.click(".message >> nth=1 >> .actions [data-key='👍']")
        reacted = "document.querySelector('.reactions button')?.getAttribute('aria-label') === '👍 by Ann'"
        report(await bob.until(reacted), "a reaction reaches the other page")
        await bob.say("Wrong window, sorry")
        await ann.shows("Wrong window, sorry")
        await bob.page.tap(".message >> nth=-1 >> .bubble")
        await bob.page.click(".message >> nth=-1 >> .actions [data-order=delete]")
        report(await ann.shows("This message was deleted."), "a deletion reaches the other page")
        await eve.send("See you tomorrow.")
        await ann.shows("See you tomorrow.")

        await ann.page.click("#offline")
        await ann.say("This one waits until I am back.")
        waits = await ann.until("document.querySelector('#messages .message:last-child').dataset.stage === 'queued'")
        report(waits, "a message sent offline is shown as waiting", await ann.shown())
        await ann.picture("offline")
        await ann.page.click("#offline")
        report(await bob.shows("This one waits until I am back."), "it is sent when the page is online again")
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
                report(not poor, f"{name}, {scheme}: all text has a contrast of at least 4.5", poor)
            nameless = await tab.page.evaluate("""[...document.querySelectorAll('button, input, textarea, a, [role=region]')]
                .filter((part) => part.getClientRects().length > 0 && !(part.getAttribute('aria-label') || part.labels?.length
                    || part.textContent.trim())).map((part) => part.outerHTML.slice(0, 100))""")
            report(not nameless, f"{name}: every control has a name", nameless)
            report(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: fits the window")
        await agreement(hub, "lobby", "a conversation", ann, bob)
        quiet(ann, bob)
    gone = "document.querySelectorAll('#members li').length === 2"
    report(await ann.until(gone), "a member that has left is removed from the list")
    await ann.page.context.close()
    await bob.page.context.close()


async def door(browser, hub):
    tab = Tab(await (await browser.context(color_scheme="light")).new_page())
    await tab.page.goto(hub.url)
    await tab.page.fill("#room", "")
    await tab.page.fill("#name", "Ann")
    await tab.picture("door")
    poor = await tab.page.evaluate(CONTRAST)
    report(not poor, "the login form: all text has a contrast of at least 4.5", poor)
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.type("quiet corner")
    await tab.page.keyboard.press("Enter")
    # Submitted twice, it joins once.
    await tab.page.evaluate("document.getElementById('join').requestSubmit()")
    report(await tab.until(LIVE), "a room can be joined with the keyboard", tab.errors)
    alone = "document.querySelector('#members li[data-user=Ann] small')?.textContent === 'you'"
    report(await tab.until(alone), "a double submit joins once", await tab.page.inner_text("#members"))
    await tab.page.keyboard.type("first words")
    await tab.page.keyboard.press("Enter")
    report(await tab.shows("first words"), "a message can be sent with the keyboard")
    await tab.page.reload()
    report(await tab.until(LIVE) and await tab.shows("first words"), "a reload returns to the room and its messages")
    await tab.say("x" * 70_000)
    told = "document.getElementById('banner').textContent === 'A message may have at most 65536 bytes.'"
    report(await tab.until(told), "a message that is too long is refused with a text", await tab.page.inner_text("#banner"))
    await asyncio.sleep(1.5)
    kept = await tab.page.evaluate(told) and len(await tab.page.input_value("#words")) == 70_000
    report(kept, "the text stays long enough to be read, and the draft stays")
    quiet(tab)
    await tab.page.context.close()


async def history(browser, hub):
    async with Member(hub, "archive", "Eve") as eve:
        for number in range(1, 181):
            await eve.send(f"{number}")
            # The number of unacked messages is limited.
            if number % 20 == 0:
                await eve.until(lambda: len(eve.entries) >= number)
        tab = await browser.joined("Ann", "archive", color_scheme="dark")
        report(await tab.shows("179", "180") and len(await tab.shown()) == 50, "a page starts with the last 50 messages", await tab.texts())
        for _ in range(PATIENCE):
            await tab.page.evaluate("document.getElementById('scroll').scrollTop = 0")
            if await tab.until("document.getElementById('beginning').getClientRects().length > 0", 1):
                break
        texts = await tab.texts()
        report(texts == [f"{number}" for number in range(1, 181)], "scrolling up loads all messages in order", texts[:5])
        await eve.send("news")
        told = "document.getElementById('newest-text').textContent === '1 new'"
        report(await tab.until(told), "new messages are announced without scrolling")
        await tab.page.click("#newest")
        report(await tab.until("document.getElementById('newest').hidden"), "one click scrolls to them")
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
    attempt = 0
    # On a busy machine, a page queues few messages before it is reloaded.
    while attempt < 12 or attempt < 60 and len(dict(await ann.page.evaluate(QUEUED))) <= 20:
        attempt += 1
        with contextlib.suppress(Exception):
            sending = asyncio.ensure_future(ann.page.evaluate(SEND, [f"{attempt}.{number}" for number in range(12)]))
            await asyncio.sleep(attempt * 0.004)
            await ann.page.reload()
            sending.cancel()
        await ann.until("globalThis.rooms?.client.state !== undefined")
    log = await agreement(hub, room, "reloads in mid-send", ann, bob)
    queued = dict(await ann.page.evaluate(QUEUED))
    lost = set(queued) - {entry["id"] for entry in log}
    report(len(queued) > 20 and not lost, f"reloads in mid-send: all {len(queued)} queued messages are stored", lost)
    own = [entry["body"]["text"] for entry in log]
    places = [tuple(map(int, text.split("."))) for text in own]
    report(places == sorted(places), "reloads in mid-send: in the order in which they were sent", own)
    report(len({entry["device"] for entry in log}) == 1, "reloads in mid-send: by one device")
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
    report(await bob.until("document.querySelectorAll('.message').length >= 5"), "the other page continues")
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
            # Messages that were not reported as queued may be lost with the page.
            await ann.until(f"{QUEUED}.length === 90")
            await ann.page.reload()
        await ann.until(LIVE)
    log = await agreement(hub, room, "6 hubs killed with -9", ann, bob)
    queued = dict(await ann.page.evaluate(QUEUED)) | dict(await bob.page.evaluate(QUEUED))
    lost = set(queued) - {entry["id"] for entry in log}
    report(len(queued) == 180 and not lost, f"6 hubs killed with -9: all {len(queued)} messages are stored", lost)
    for name in ("ann", "bob"):
        said = [tuple(map(int, entry["body"]["text"].split()[1].split("."))) for entry in log if entry["body"]["text"].startswith(name)]
        report(said == sorted(said), f"6 hubs killed with -9: the messages of {name} are in the order in which they were sent", said)
    await hub.stop()
    await hub.start()
    await ann.say("after a hub that stopped")
    report(await bob.shows("after a hub that stopped"), "the pages reconnect after a clean stop of the hub")
    await sven.send("from Swift")
    report(await ann.shows("from Swift") and await bob.shows("from Swift"), "both pages get the messages of a Swift client")
    ids = [entry["id"] for entry in await log_of(hub, room)]
    heard = await sven.until(lambda: len(sven.ids) >= len(ids)) and sven.ids == ids
    report(heard, "the Swift client has all messages once and in order", f"{len(sven.ids)} of {len(ids)}")
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
    report(await first.until(f"{both} === 'you, 2 connections'"), "both tabs are one member", await first.page.evaluate(both))
    await agreement(hub, room, "two tabs", first, second)
    await second.page.click("#offline")
    await second.say("left behind")
    # No hub accepts a message with such an old date.
    await second.page.evaluate("""() => {
        const now = Date.now;
        Date.now = () => 1000;
        return rooms.client.send(rooms.room, { type: "x", body: { text: "refused" } }).finally(() => { Date.now = now; });
    }""")
    await second.until("rooms.client.waiting === 2")
    await second.page.close()
    adopted = f"{SHOWN}.some(({{ stage, text }}) => stage === 'failed' && text === 'refused')"
    report(await first.until(adopted), "a refused message of a closed tab is shown by the other tab", await first.shown())
    await first.page.click("[data-order=discard]")
    report(await first.shows("left behind"), "other messages of the closed tab are sent")
    log = await agreement(hub, room, "a tab that was closed", first)
    said = [entry for entry in log if entry["body"]["text"] == "left behind"]
    report([entry["device"] for entry in said] == [devices[1]], "they are sent once, under the device of the closed tab", said)
    third = await browser.tab(context, "Ann", room)
    same = await third.until(LIVE) and await third.page.evaluate("rooms.client.device") == devices[1]
    report(same, "a new tab takes the free device")
    quiet(first, third)
    await context.close()


async def strangers(browser, hub):
    ann = await browser.joined("Ann", "borrowed")
    async with Member(hub, "borrowed", "Eve") as eve:
        await ann.say("mine")
        await eve.until(lambda: len(eve.entries) == 1)
        await eve.send("not mine", name=eve.entries[0]["id"])
        report(await ann.shows("mine", "not mine"), "a message with the id of another does not replace it", await ann.texts())
        await ann.page.click("#offline")
        await ann.say("waits")
        await ann.shows("mine", "not mine", "waits")
        await eve.send("came first", name=(await ann.shown())[-1]["id"])
        await eve.until(lambda: len(eve.entries) == 3)
        await ann.page.click("#offline")
        texts = ["mine", "not mine", "came first", "waits"]
        report(await ann.shows(*texts), "it does not replace a waiting message either", await ann.texts())
        stages = [message["stage"] for message in await ann.shown() if message["own"]]
        report(await ann.until("rooms.client.waiting === 0"), "the waiting message is stored too", stages)
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
        report(kept, "a page keeps the end of a long conversation", len(await ann.shown()))
        for _ in range(PATIENCE):
            await ann.page.evaluate("document.getElementById('scroll').scrollTop = 0")
            if await ann.until("document.getElementById('beginning').getClientRects().length > 0", 1):
                break
        whole = await ann.texts() == [f"{number}" for number in range(1, 701)]
        report(whole, "the rest is loaded by scrolling", len(await ann.shown()))
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
    report(await tab.until(LIVE), "a token joins the room", tab.errors)
    report("eyJ" not in tab.page.url, "the token is removed from the address", tab.page.url)
    await tab.say("grüezi")
    own = f"{SHOWN}.some(({{ own, stage, text }}) => own && stage === 'stored' && text === 'grüezi')"
    report(await tab.until(own), "the sender is the user of the token", await tab.shown())
    connection = await tab.page.evaluate("rooms.client.welcome.conn")
    soon = "document.getElementById('banner').textContent.startsWith('Your token expires soon.')"
    report(await tab.until(soon), "a token that ends soon is announced", await tab.page.inner_text("#banner"))
    await tab.page.click("#banner button")
    await tab.page.fill("#token", token("Ann", 60))
    await tab.page.keyboard.press("Enter")
    wrong = "document.getElementById('door-error').textContent.startsWith('This token is for Ann.')"
    report(await tab.until(wrong), "the token of another user is refused", await tab.page.inner_text("#door"))
    await tab.picture("token")
    ends = await tab.page.evaluate("rooms.client.tokenEnds")
    await tab.page.fill("#token", token("Jürgen", 5))
    await tab.page.keyboard.press("Enter")
    renewed = await tab.until(f"rooms.client.tokenEnds < {ends}") and await tab.page.evaluate("rooms.client.welcome.conn") == connection
    report(renewed, "a new token is sent on the same connection", await tab.page.evaluate("[rooms.client.state, rooms.client.tokenEnds]"))
    ended = "document.getElementById('banner').textContent.startsWith('Your token has expired.')"
    report(await tab.until(ended), "an expired token is announced", await tab.page.inner_text("#banner"))
    await tab.say("after the end")
    await tab.shows("grüezi", "after the end")
    await tab.picture("token-ended")
    await tab.page.click("#banner button")
    await tab.page.fill("#token", token("Jürgen", 3600))
    await tab.page.keyboard.press("Enter")
    back = await tab.until(f"{LIVE} && rooms.client.waiting === 0 && document.getElementById('banner').hidden")
    sent = back and await tab.shows("grüezi", "after the end")
    report(sent, "after a new token waiting messages are sent", await tab.shown())
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
        report(why is None, f"IndexedDB equals the plain store, seed {seed}", why)
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
    report(await tab.until(lines), "each chart has a line", await tab.page.evaluate("JSON.stringify(globalThis.status?.last)"))
    for scheme in ("light", "dark"):
        await tab.page.emulate_media(color_scheme=scheme)
        await asyncio.sleep(0.3)
        poor = await tab.page.evaluate(CONTRAST)
        report(not poor, f"status, {scheme}: all text has a contrast of at least 4.5", poor)
        await tab.picture(f"status-{scheme}")
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    report(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "status fits a phone")
    await tab.picture("status-phone")
    await hub.kill()
    report(await tab.until("document.body.dataset.state === 'lost'"), "the page shows that the hub is gone")
    await hub.start()
    report(await tab.until(LIVE), "the figures return")
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
    report(good, "the busiest rooms are shown by members and by rate", [by_members[:1], by_pace[:1]])
    await tab.page.evaluate("document.getElementById('busiest').scrollIntoView()")
    for scheme in ("light", "dark"):
        await tab.page.emulate_media(color_scheme=scheme)
        poor = await tab.page.evaluate(CONTRAST)
        report(not poor, f"the busiest rooms, {scheme}: all text has a contrast of at least 4.5", poor)
    await tab.picture("status-rooms")
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    report(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the busiest rooms fit a phone")
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
