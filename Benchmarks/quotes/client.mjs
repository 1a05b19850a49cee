#!/usr/bin/env node
// Reads a feed of quotes with Node `ws` and the page's decoder and book. Prints one line of JSON.
//
//   client.mjs URL json|msgpack SECONDS BUSY-MILLISECONDS
//
// With BUSY-MILLISECONDS the consumer needs this time for each message, as if it drew it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { WebSocket } = createRequire("/usr/share/nodejs/")("/usr/share/nodejs/ws");
const page = new URL("../../Sources/Tools/HoldfastMarket/Page/", import.meta.url);
const { Book, Order, fields } = await import(new URL("book.mjs", page));
const { decode, encode } = await import(new URL("messagepack.mjs", page));

const [url, encoding, seconds, busy] = [process.argv[2], process.argv[3], Number(process.argv[4]), Number(process.argv[5])];
const isJSON = encoding === "json";
const book = new Book();
const ages = [];
const memory = [];
const nap = new Int32Array(new SharedArrayBuffer(4));
const residentKilobytes = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
let begun = null;
let measured = 0;

const socket = new WebSocket(url, `holdfast.quotes.v1.${encoding}`, { perMessageDeflate: false });
const send = (message) => socket.send(isJSON ? JSON.stringify(message) : encode(message));
socket.on("open", () => {
    book.connected();
    send({ type: "subscribe", id: 1, symbols: ["*"] });
});
socket.on("message", (data, isBinary) => {
    const message = isBinary ? decode(data) : JSON.parse(data.toString());
    if (book.apply(message) !== Order.nothing) throw new Error("the feed has a gap, or cannot be trusted");
    if (begun === null) {
        if (book.isComplete(1)) begin();
        return;
    }
    const changed = book.takeChanged();
    if (busy > 0) {
        Atomics.wait(nap, 0, 0, busy);
        const now = Date.now();
        for (const place of changed) ages.push(now - book.shown[place * fields + 5]);
    } else if (changed.length > 0) ages.push(Date.now() - book.shown[changed.at(-1) * fields + 5]);
    const now = performance.now();
    if (now - measured > 500) {
        measured = now;
        memory.push(residentKilobytes());
    }
    if (now - begun.now >= seconds * 1000) end();
});

function begin() {
    book.takeChanged();
    begun = { now: performance.now(), cpu: process.cpuUsage(), ticks: book.counts.ticks, messages: book.counts.messages };
    memory.push(residentKilobytes());
}

function end() {
    const cpu = process.cpuUsage(begun.cpu);
    memory.push(residentKilobytes());
    ages.sort((a, b) => a - b);
    const share = (part) => ages[Math.floor((ages.length - 1) * part)] ?? null;
    console.log(JSON.stringify({
        seconds: (performance.now() - begun.now) / 1000, cpu: (cpu.user + cpu.system) / 1e6, ticks: book.counts.ticks - begun.ticks,
        messages: book.counts.messages - begun.messages, shown: ages.length, conflated: book.counts.conflated, p50: share(0.5),
        p99: share(0.99), most: share(1), memory,
    }));
    process.exit(0);
}
