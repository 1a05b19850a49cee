#!/usr/bin/env python3
"""Opens the page of `holdfast serve quotes` in Chromium and prints `ok NAME` or `not ok NAME: why` per check.

browser.py HOLDFAST SCREENSHOTS

Servers and faults are real: a link that cuts, a server that is restarted, messages that are dropped.
"""
import asyncio
import fnmatch
import json
import pathlib
import signal
import sys

from devtools import chromium
from suite import PATIENCE, Program, finish, free_port, report, run, running
from websockets.asyncio.client import connect

HOLDFAST = sys.argv[1]
SCREENSHOTS = pathlib.Path(sys.argv[2])
LIVE = "globalThis.quotes?.link.state === 'live'"
# The drawn rows, read in the frame that drew them.
ROWS = """new Promise((done) => requestAnimationFrame(() => done([...document.querySelectorAll('#rows .row')]
    .filter((row) => row.getClientRects().length > 0).map((row) => ({
        index: Number(row.getAttribute('aria-rowindex')), name: row.querySelector('.symbol').lastChild.data,
        last: row.querySelector('.last').textContent,
        model: quotes.market.last[quotes.market.names.indexOf(row.querySelector('.symbol').lastChild.data)],
    })).sort((a, b) => a.index - b.index))))"""
MARKET = """(() => { const { names, version, bid, ask, last, volume, time } = quotes.market;
    return names.map((name, index) => [name, version[index], bid[index], ask[index], last[index], volume[index], time[index]]); })()"""
# The page is live, with more gaps on this connection than at the last call.
MENDED = """(({ link, counts }) => {
    if (link.state !== 'live') return false;
    const before = globalThis.before;
    if (before?.connections === link.connections) return counts.gaps > before.gaps;
    globalThis.before = { connections: link.connections, gaps: counts.gaps };
    return false;
})(quotes)"""

def market(*options):
    port = free_port()
    return running(Program(port, HOLDFAST, "serve", "quotes", "--quiet", "--port", str(port), "--symbols", "500", "--seed", "7", *options))


def link(port, script):
    listen = free_port()
    return running(Program(listen, HOLDFAST, "chaos", "--quiet", "--listen", str(listen), "--to", f"127.0.0.1:{port}", "--script", script))


async def snapshot(port):
    """The server's own values of every symbol, by name."""
    quotes = {}
    async with connect(f"ws://127.0.0.1:{port}/feed", subprotocols=["holdfast.quotes.v1.json"], proxy=None, max_size=None) as socket:
        await socket.send(json.dumps({"type": "subscribe", "id": 1, "symbols": ["*"]}))
        while True:
            message = json.loads(await socket.recv())
            if message["type"] != "snapshot":
                continue
            for _, name, *fields in message["quotes"]:
                quotes[name] = fields
            if message["last"]:
                return quotes


async def agrees(page, port):
    """Returns why page and server differ, or None. Values of the same version must be equal, for most symbols at once."""
    why = "nothing to compare"
    for _ in range(PATIENCE):
        theirs = await snapshot(port)
        shown = {name: fields for name, *fields in await page.value(MARKET)}
        if set(shown) != set(theirs):
            why = f"{len(shown)} symbols instead of {len(theirs)}"
        else:
            same = [name for name, fields in shown.items() if fields[0] == theirs[name][0]]
            wrong = [name for name in same if shown[name] != theirs[name]]
            if wrong:
                return f"{wrong[0]} is {theirs[wrong[0]]}, and shown as {shown[wrong[0]]}"
            if len(same) * 2 > len(theirs):
                return None
            why = f"only {len(same)} of {len(theirs)} symbols are of the server's version"
        await asyncio.sleep(0.5)
    return why


def errors(page):
    return "; ".join(page.errors[:3])


async def quiet_market(browser):
    async with market("--rate", "100", "--no-bursts") as server:
        page = await browser.open(f"http://127.0.0.1:{server.port}/quotes")
        report(await page.until(LIVE), "the page is live", errors(page))
        report(await page.value("quotes.link.encoding") == "msgpack", "the page prefers MessagePack")
        rows = await page.value(ROWS)
        report(len(rows) > 10 and [row["index"] for row in rows] == list(range(2, len(rows) + 2)), "rows fill the window", rows)
        count = await page.value("document.getElementById('table').getAttribute('aria-rowcount')")
        report(count == "501", "500 symbols are announced to screen readers", count)
        wrong = [row for row in rows if abs(float(row["last"].replace(",", "")) * 10_000 - row["model"]) > 50]
        report(not wrong, "each row shows the page's values", wrong)
        why = await agrees(page, server.port)
        report(why is None, "the page's values equal the server's", why)

        names = sorted(await page.value("quotes.market.names"))
        report([row["name"] for row in rows] == names[: len(rows)], "rows are sorted by symbol", rows[:3])
        pattern = names[0][:2] + "*"
        await page.command("Runtime.evaluate", expression="document.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))")
        report(await page.value("document.activeElement.id") == "filter", "the key / moves to the search")
        await page.command("Input.insertText", text=pattern)
        matching = fnmatch.filter(names, pattern)
        said = f"{len(matching)} of 500 symbols"
        found = await page.until(f"document.getElementById('count').textContent === {json.dumps(said)}")
        rows = await page.value(ROWS)
        report(found and rows and {row["name"] for row in rows} <= set(matching), f"the pattern {pattern} finds what it should", rows[:3])
        await page.value("document.getElementById('filter').select()")
        await page.command("Input.insertText", text=names[-1])
        said = f"{len(fnmatch.filter(names, f'*{names[-1]}*'))} of 500 symbols"
        found = await page.until(f"document.getElementById('count').textContent === {json.dumps(said)}")
        rows = await page.value(ROWS)
        report(found and rows and all(names[-1] in row["name"] for row in rows), "the search finds a single symbol", rows[:3])
        await page.command("Input.dispatchKeyEvent", type="keyDown", key="Escape")
        report(await page.until("document.getElementById('count').textContent === '500 symbols'"), "Escape shows all symbols again")

        # With the server stopped nothing changes, and the order can be checked.
        server.process.send_signal(signal.SIGSTOP)
        await page.until("(globalThis.before === (globalThis.before = quotes.counts.messages))")
        for key, sign in (("last", -1), ("last", 1), ("change", -1)):
            await page.value(f"document.querySelector('[data-key={key}] button').click()")
            order = "ascending" if sign > 0 else "descending"
            marked = await page.value(f"document.querySelector('[data-key={key}]').getAttribute('aria-sort')")
            measure = "market.last[place]" if key == "last" else "market.change(place)"
            await page.value(ROWS)
            rows = await page.value(ROWS)
            names_shown = json.dumps([row["name"] for row in rows])
            values = await page.value(f"""(({{ market }}) => {names_shown}.map((name) => {{
                const place = market.names.indexOf(name);
                return {measure};
            }}))(quotes)""")
            report(marked == order and values == sorted(values, reverse=sign < 0) and len(values) > 10, f"sorted by {key}, {order}", values)
        server.process.send_signal(signal.SIGCONT)
        report(not page.errors, "no script has an error", errors(page))
        await page.close()

        page = await browser.open(f"http://127.0.0.1:{server.port}/quotes?encoding=json")
        live = await page.until(LIVE)
        report(live and await page.value("quotes.link.encoding") == "json", "the page uses JSON on request", errors(page))
        why = await agrees(page, server.port)
        report(why is None, "with JSON the values equal the server's", why)
        await page.close()


async def busy_market(browser):
    async with market("--rate", "20000", "--no-bursts") as server:
        for name, options in {
            "desktop, dark": {},
            "phone, light": {"width": 390, "height": 844, "scale": 2, "mobile": True, "scheme": "light"},
        }.items():
            page = await browser.open(f"http://127.0.0.1:{server.port}/quotes", **options)
            live = await page.until(LIVE)
            before = await page.value(ROWS)
            # Long enough for the sparklines.
            await asyncio.sleep(5)
            measure = "[performance.now(), quotes.frames, quotes.counts.ticks]"
            first = await page.value(measure)
            await asyncio.sleep(5)
            milliseconds, frames, ticks = (after - before for before, after in zip(first, await page.value(measure)))
            rate, ticks = frames * 1000 / milliseconds, ticks * 1000 / milliseconds
            moved = [new["name"] for old, new in zip(before, await page.value(ROWS)) if old["last"] != new["last"]]
            await page.screenshot(SCREENSHOTS / f"quotes-{name.split(',')[0]}.png")
            print(f"{name}: {rate:.0f} frames per second at {ticks:,.0f} ticks per second")
            report(live and len(moved) > 5, f"{name}: values move", f"{len(moved)} rows; {errors(page)}")
            # The figure matters. The minimum only distinguishes a hanging page from a busy machine.
            report(rate >= 10 and ticks >= 1_000, f"{name}: 10 frames per second at least", f"{rate:.1f}, {ticks:.0f} ticks per second")
            wide = await page.value("document.documentElement.scrollWidth <= innerWidth")
            report(wide and not page.errors, f"{name}: fits the window, without script errors", errors(page))
            await page.close()


async def cut_links(browser):
    async with market("--rate", "100", "--no-bursts") as server, link(server.port, "every 3s cut rst") as chaos:
        page = await browser.open(f"http://127.0.0.1:{chaos.port}/quotes")
        report(await page.until("globalThis.quotes?.link.connections >= 3"), "the page survives two cuts", errors(page))
        report(await page.until(LIVE), "after a cut the page is live again", errors(page))
        why = await agrees(page, server.port)
        report(why is None, "after a cut the values equal the server's", why)
        report(not page.errors, "cuts cause no script error", errors(page))
        await page.close()


async def restarted_server(browser):
    async with market("--rate", "100", "--no-bursts") as server:
        page = await browser.open(f"http://127.0.0.1:{server.port}/quotes")
        report(await page.until(LIVE), "the page is live before the server ends", errors(page))
        run = await page.value("quotes.market.run")
        await server.stop()
        lost = "['lost', 'connecting'].includes(document.body.dataset.state)"
        report(await page.until(lost), "the page says that the connection is lost")
        dimmed = await page.value("Number(getComputedStyle(document.getElementById('rows')).opacity) < 1")
        report(dimmed and len(await page.value(ROWS)) > 10, "old prices are shown as old")
        await server.start()
        report(await page.until(f"{LIVE} && quotes.market.run !== {run}"), "the page connects to the new server", errors(page))
        why = await agrees(page, server.port)
        report(why is None, "the values equal the new server's", why)
        server.process.send_signal(signal.SIGSTOP)
        report(await page.until("globalThis.quotes.link.state !== 'live'"), "a silent server is given up")
        server.process.send_signal(signal.SIGCONT)
        report(await page.until(LIVE), "the page reconnects when the server continues", errors(page))
        report(not page.errors, "server failures cause no script error", errors(page))
        await page.close()


async def dropped_messages(browser):
    async with market("--rate", "200", "--no-bursts", "--drop", "0.02") as server:
        page = await browser.open(f"http://127.0.0.1:{server.port}/quotes")
        report(await page.until("globalThis.quotes?.counts.gaps >= 3"), "gaps are detected", errors(page))
        report(await page.until(MENDED), "after a gap the page is live again on the same connection", errors(page))
        why = await agrees(page, server.port)
        report(why is None, "no wrong price is shown", why)
        report(await page.value("quotes.counts.garbage === 0") and not page.errors, "no message counts as garbage", errors(page))
        await page.close()


async def main():
    async with chromium() as browser:
        await run((quiet_market, busy_market, cut_links, restarted_server, dropped_messages), browser)
    finish()


asyncio.run(main())
