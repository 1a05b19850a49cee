// Connects the parts of the page: one worker that receives, and one table that is drawn once per frame.

import { Market } from "./market.mjs";
import { grouped, Table } from "./table.mjs";

const parameters = new URLSearchParams(location.search);
const element = (id) => document.getElementById(id);
const market = new Market();
const table = new Table(market);
const worker = new Worker("quotes/worker.mjs", { type: "module" });
const sorting = { key: "symbol", sign: 1 };
const sampleInterval = 500;
const orderInterval = 1_000;

const feedURL = new URL("feed", location.href);
feedURL.protocol = location.protocol === "https:" ? "wss:" : "ws:";
worker.postMessage({ open: feedURL.href, encoding: parameters.get("encoding") ?? "" });

let link = { state: "connecting", bytes: 0, connections: 0 };
let counts = { ticks: 0, conflated: 0, gaps: 0 };
let isAsked = false;
let mustOrder = true;

worker.onmessage = ({ data }) => {
    isAsked = false;
    if (market.apply(data)) mustOrder = true;
    ({ counts, link } = data);
};

let frames = 0;
let nextSample = 0;
let nextOrder = 0;

function frame(now) {
    frames++;
    if (!isAsked) {
        isAsked = true;
        worker.postMessage({});
    }
    if (now >= nextSample) {
        nextSample = now + sampleInterval;
        market.sample();
    }
    if (mustOrder || (now >= nextOrder && sorting.key !== "symbol")) order(now);
    table.draw(now);
    requestAnimationFrame(frame);
}

function order(now) {
    mustOrder = false;
    nextOrder = now + orderInterval;
    const places = market.order(element("filter").value, sorting.key, sorting.sign);
    table.show(places);
    const [shown, all] = [grouped(places.length), grouped(market.names.length)];
    write("count", shown === all ? `${all} symbols` : `${shown} of ${all} symbols`);
}

function write(id, text) {
    const { firstChild } = element(id);
    if (firstChild === null) element(id).textContent = text;
    else if (firstChild.data !== text) firstChild.data = text;
}

let last = { now: performance.now(), frames: 0, ticks: 0, bytes: 0 };

/** Updates the figures in the header once per second. */
function tell() {
    const now = performance.now();
    const seconds = (now - last.now) / 1000;
    const perSecond = (what, before) => grouped(Math.round((what - before) / seconds));
    write("ticks", perSecond(counts.ticks, last.ticks));
    write("frames", perSecond(frames, last.frames));
    write("bytes", perSecond(link.bytes / 1024, last.bytes / 1024));
    write("round-trip", typeof link.roundTrip === "number" ? link.roundTrip.toFixed(link.roundTrip < 10 ? 1 : 0) : "–");
    write("conflated", grouped(counts.conflated));
    write("gaps", grouped(counts.gaps));
    last = { now, frames, ticks: counts.ticks, bytes: link.bytes };
    const { up, down } = market.breadth();
    write("up", grouped(up));
    write("down", grouped(down));
    const most = Math.max(1, market.names.length);
    element("bar-up").style.transform = `scaleX(${up / most})`;
    element("bar-down").style.transform = `scaleX(${down / most})`;
    tellLink();
}

function tellLink() {
    const { state } = link;
    document.body.dataset.state = state;
    element("link").dataset.state = state;
    const asOf = market.newest > 0 ? `, as of ${new Date(market.newest).toLocaleTimeString()}` : "";
    const texts = {
        connecting: `connecting${asOf}`, live: link.encoding === "json" ? "live, JSON" : "live, MessagePack",
        resyncing: "catching up", lost: `offline${asOf}`,
    };
    write("link-text", texts[state]);
}

function sortBy(key) {
    sorting.sign = sorting.key === key ? -sorting.sign : key === "symbol" ? 1 : -1;
    sorting.key = key;
    mustOrder = true;
    for (const header of document.querySelectorAll("[data-key]")) {
        if (header.dataset.key === key) header.setAttribute("aria-sort", sorting.sign > 0 ? "ascending" : "descending");
        else header.removeAttribute("aria-sort");
    }
    element("scroll").scrollTop = 0;
}

for (const header of document.querySelectorAll("[data-key]")) {
    header.querySelector("button").addEventListener("click", () => sortBy(header.dataset.key));
}
element("filter").addEventListener("input", () => {
    mustOrder = true;
    element("scroll").scrollTop = 0;
});
addEventListener("keydown", (event) => {
    const isTyping = document.activeElement === element("filter");
    if (event.key === "/" && !isTyping) {
        event.preventDefault();
        element("filter").focus();
    } else if (event.key === "Escape" && isTyping) {
        element("filter").value = "";
        mustOrder = true;
        element("scroll").focus();
    }
});
addEventListener("online", () => worker.postMessage({ hurry: true }));
document.addEventListener("visibilitychange", () => worker.postMessage({ hurry: true }));

// For the console, and for the browser test.
globalThis.quotes = { market, get link() { return link; }, get counts() { return counts; }, get frames() { return frames; } };

document.querySelector("[data-key=symbol]").setAttribute("aria-sort", "ascending");
setInterval(tell, 1_000);
setInterval(() => { if (link.state !== document.body.dataset.state) tellLink(); }, 100);
table.measure();
requestAnimationFrame(frame);
