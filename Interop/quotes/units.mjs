#!/usr/bin/env node
// Tests the page's decoder, book, market and patterns without a browser. Prints `ok NAME` or `not ok NAME: why` for each.

import assert from "node:assert/strict";

const page = new URL("../../Sources/Tools/HoldfastMarket/Page/", import.meta.url);
const { backoff } = await import(new URL("backoff.mjs", page));
const { Book, Order } = await import(new URL("book.mjs", page));
const { Market, matcher } = await import(new URL("market.mjs", page));
const { decode, encode, MessagePackError } = await import(new URL("messagepack.mjs", page));

const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
const hex = (array) => Buffer.from(array).toString("hex");

const welcome = { type: "welcome", version: 1, market: 9, symbols: 3 };
const snapshot = (seq, quotes, { round = 0, last = true, id = 1 } = {}) => ({ type: "snapshot", id, seq, round, last, quotes });
const ticks = (seq, ticks, conflated) => ({ type: "ticks", seq, conflated, ticks });
const sail = [0, "SAIL", 7, 100, 110, 105, 50, 1000];
const bank = [2, "BANK", 3, 200, 210, 205, 60, 1000];

/** A book after the welcome, with both symbols. */
function opened() {
    const book = new Book();
    book.connected();
    for (const message of [welcome, snapshot(1, [sail, bank])]) assert.equal(book.apply(message), Order.nothing);
    return book;
}

/** The values that a book shows for a symbol. */
function shown(book, name) {
    const at = book.names.indexOf(name) * 6;
    return [...book.shown.subarray(at, at + 6)];
}

/** Random numbers from 0 to below 1, the same for the same seed. */
function chance(seed) {
    let state = seed;
    return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** A server of three symbols that drops a fifth of its messages. */
function simulate(random) {
    const had = ["SAIL", "BANK", "REEF"].map(() => [[1, 100, 110, 105, 50, 1000]]);
    const newest = () => had.map((versions) => versions.at(-1));
    const book = new Book();
    book.connected();
    book.apply(welcome);
    let [sequence, sent, drops] = [0, newest(), true];
    const deliver = (message) => {
        if (drops && random() < 0.2) return;
        if (book.apply(message) === Order.resync) sendSnapshot();
        book.names.forEach((name, place) => {
            const versions = had[["SAIL", "BANK", "REEF"].indexOf(name)];
            const value = [...book.shown.subarray(place * 6, place * 6 + 6)];
            assert.deepEqual(value, versions[value[0] - 1], name);
        });
    };
    const sendSnapshot = () => {
        sent = newest();
        const { round } = book;
        ["SAIL", "BANK", "REEF"].forEach((name, symbol) => {
            if (round === book.round) deliver(snapshot(++sequence, [[symbol, name, ...sent[symbol]]], { round, last: symbol === 2 }));
        });
    };
    const sendTicks = () => {
        const changed = newest().flatMap((quote, symbol) => (quote[0] === sent[symbol][0] ? [] : [symbol]));
        const differences = changed.map((symbol) => {
            const fields = newest()[symbol].map((value, field) => value - sent[symbol][field]);
            return [symbol, newest()[symbol][0], 31, ...fields.slice(1)];
        });
        sent = newest();
        deliver(ticks(++sequence, differences));
    };
    while (!book.isComplete(1)) sendSnapshot();
    for (let step = 0; step < 40; step++) {
        const versions = had[Math.floor(random() * 3)];
        versions.push(versions.at(-1).map((value, field) => (field === 0 ? value + 1 : value + Math.floor(random() * 9))));
        if (random() < 0.6) sendTicks();
    }
    drops = false;
    sendTicks();
    while (!book.isComplete(1)) sendSnapshot();
    assert.deepEqual(["SAIL", "BANK", "REEF"].map((name) => shown(book, name)), newest());
}

const tests = {
    "MessagePack: every form of a number"() {
        const forms = {
            "00": 0, "7f": 127, "e0": -32, "ff": -1, "ccff": 255, "cdffff": 65_535, "ceffffffff": 4_294_967_295,
            "cf001fffffffffffff": 2 ** 53 - 1, "d080": -128, "d18000": -32_768,
            "d280000000": -2_147_483_648, "d3ffe0000000000001": 1 - 2 ** 53, "ca3fc00000": 1.5,
            "cb3ff8000000000000": 1.5, "c0": null, "c2": false, "c3": true,
        };
        for (const [form, value] of Object.entries(forms)) assert.equal(decode(bytes(form)), value, form);
    },
    "MessagePack: the tick message of the protocol's page"() {
        const text = "83a474797065a57469636b73a373657103a57469636b7391960c0a15643228";
        const message = { type: "ticks", seq: 3, ticks: [[12, 10, 21, 100, 50, 40]] };
        assert.deepEqual({ ...decode(bytes(text)) }, message);
        assert.equal(hex(encode(message)), text);
    },
    "MessagePack: values are encoded in the shortest form and decoded again"() {
        const positive = [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1];
        for (const value of [...positive, -1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31) - 1]) {
            assert.equal(decode(encode(value)), value);
        }
        const sizes = [5, -32, 200, -33, 3000, -129, 70_000, 2 ** 32 - 1, -32_769, 2 ** 32].map((value) => encode(value).length);
        assert.deepEqual(sizes, [1, 1, 2, 2, 3, 3, 5, 5, 5, 9]);
        for (const value of ["", "x".repeat(31), "x".repeat(32), "é".repeat(200), "x".repeat(70_000), [..."abcdefghijklmnopq"], []]) {
            assert.deepEqual(decode(encode(value)), value);
        }
    },
    "MessagePack: truncated, trailing, deeply nested or oversized input is refused at every length"() {
        const whole = encode({ type: "subscribe", id: 1, symbols: ["BANK.*", "é", "x".repeat(40)], rate: 70_000 });
        for (let length = 0; length < whole.length; length++) assert.throws(() => decode(whole.subarray(0, length)), MessagePackError);
        const nested = "91".repeat(20) + "00";
        const claims = ["dd7fffffff", "df7fffffff00", "c6ffffffff", "d97f61"];
        for (const bad of ["c1", "0000", nested, ...claims, "a1ff", "cf0020000000000000"]) {
            assert.throws(() => decode(bytes(bad)), MessagePackError, bad);
        }
    },
    "MessagePack: special JavaScript keys of a peer have no effect"() {
        assert.equal(Object.getPrototypeOf(decode(encode(JSON.parse('{"__proto__":{"type":"welcome"}}')))), null);
        assert.equal({}.type, undefined);
    },
    "Book: a snapshot, then differences"() {
        const book = opened();
        assert.ok(book.isComplete(1));
        assert.equal(book.apply(ticks(2, [[0, 8, 29, -10, 5, 20, 13]], 4)), Order.nothing);
        assert.deepEqual(shown(book, "SAIL"), [8, 90, 110, 110, 70, 1013]);
        assert.deepEqual(shown(book, "BANK"), [3, 200, 210, 205, 60, 1000]);
        assert.deepEqual([book.counts.ticks, book.counts.conflated, book.counts.gaps], [1, 4, 0]);
        assert.deepEqual(book.takeChanged(), [0, 1]);
        assert.deepEqual(book.takeChanged(), []);
    },
    "Book: after a gap no value is trusted until the snapshot is complete"() {
        const book = opened();
        assert.equal(book.apply(ticks(3, [[0, 9, 1, 1]])), Order.resync);
        assert.deepEqual([book.round, book.counts.gaps, book.isComplete(1)], [1, 1, false]);
        assert.equal(book.apply(ticks(4, [[0, 10, 1, 1]])), Order.nothing);
        assert.deepEqual(shown(book, "SAIL"), [7, 100, 110, 105, 50, 1000]);
        book.apply(snapshot(5, [[0, "SAIL", 10, 102, 112, 107, 50, 1001]], { round: 1, last: false }));
        assert.deepEqual(shown(book, "SAIL").slice(0, 2), [10, 102]);
        book.apply(ticks(6, [[0, 11, 1, 3], [2, 4, 1, 1]]));
        assert.deepEqual(shown(book, "SAIL"), [11, 105, 112, 107, 50, 1001]);
        assert.deepEqual(shown(book, "BANK"), [3, 200, 210, 205, 60, 1000]);
        book.apply(snapshot(7, [[2, "BANK", 4, 201, 210, 205, 60, 1000]], { round: 0 }));
        assert.ok(!book.isComplete(1), "a snapshot of the round before completes nothing");
        book.apply(snapshot(8, [[2, "BANK", 4, 201, 210, 205, 60, 1000]], { round: 1 }));
        assert.ok(book.isComplete(1));
    },
    "Book: the quotes of a snapshot after a gap count, values before garbage do not"() {
        const book = opened();
        assert.equal(book.apply(snapshot(3, [[0, "SAIL", 9, 101, 110, 105, 50, 1000]])), Order.resync);
        book.apply(ticks(4, [[0, 10, 1, 1], [2, 4, 1, 1]]));
        assert.deepEqual([shown(book, "SAIL")[1], shown(book, "BANK")[1]], [102, 200]);
        assert.equal(book.garbage(), Order.resync);
        book.apply(ticks(5, [[0, 11, 1, 1]]));
        assert.equal(shown(book, "SAIL")[1], 102);
    },
    "Book: a duplicate is ignored, a stale version is used as a base but not shown"() {
        const book = opened();
        book.apply(ticks(2, [[0, 8, 1, 1]]));
        assert.equal(book.apply(ticks(2, [[0, 8, 1, 1]])), Order.nothing);
        assert.deepEqual(shown(book, "SAIL").slice(0, 2), [8, 101]);
        book.takeChanged();
        book.apply(ticks(3, [[0, 8, 0]]));
        assert.deepEqual([book.takeChanged(), book.counts.stale], [[], 1]);
        book.connected();
        book.apply(welcome);
        book.apply(snapshot(1, [[0, "SAIL", 6, 90, 110, 105, 50, 900]]));
        assert.deepEqual([shown(book, "SAIL")[1], book.counts.stale], [101, 2]);
        book.apply(ticks(2, [[0, 9, 1, 5]]));
        assert.deepEqual(shown(book, "SAIL").slice(0, 2), [9, 95]);
    },
    "Book: after a cut old values stay; another run of the market starts empty"() {
        const book = opened();
        book.connected();
        assert.ok(!book.isComplete(1));
        book.apply(welcome);
        assert.deepEqual(shown(book, "SAIL")[0], 7);
        book.connected();
        book.apply({ ...welcome, market: 10, symbols: 1 });
        assert.deepEqual([book.names, book.shown.length], [[], 6]);
    },
    "Book: garbage is counted and resynced, and the third time ends the connection"() {
        const bad = [
            null, 7, ticks("x", []), ticks(2, 5), ticks(2, [[0]]), ticks(2, [[0, 8, 32, 1]]), ticks(2, [[0, 8, 1]]),
            ticks(2, [[0, 8, 1, -101]]), ticks(2, [[0, 8, 1, 2 ** 53]]), ticks(2, [[1, 8, 1, 1]]), ticks(2, [[3, 8, 1, 1]]),
            ticks(2, [[0, 8, 1, 0.5]]), ticks(2, [null]),
            snapshot(2, [[0, "SAIL", 8]]), snapshot(2, [[0, 5, 8, 1, 1, 1, 1, 1]]), snapshot(2, [[0, "x".repeat(33), 8, 1, 1, 1, 1, 1]]),
            ticks(2, new Array(10_001).fill([0, 8, 0])),
        ];
        for (const message of bad) assert.equal(opened().apply(message), Order.resync, JSON.stringify(message));
        const book = opened();
        assert.deepEqual([book.apply(null), book.apply(null), book.apply(null)], [Order.resync, Order.resync, Order.close]);
        assert.deepEqual([book.counts.garbage, book.round], [3, 2]);
        const early = new Book();
        early.connected();
        assert.equal(early.apply(snapshot(1, [])), Order.resync);
    },
    "Book: unknown types are ignored, another version and a market without bounds are not"() {
        const book = opened();
        assert.equal(book.apply({ type: "news" }), Order.nothing);
        assert.equal(book.apply({ ...welcome, version: 2 }), Order.close);
        assert.equal(book.apply({ ...welcome, symbols: 100_001 }), Order.close);
    },
    "Book: with any dropped messages only values of the server are shown, and the newest at the end"() {
        for (let seed = 1; seed <= 200; seed++) simulate(chance(seed));
    },
    "Market: direction, change, order and breadth"() {
        const market = new Market();
        const quotes = (...rows) => Float64Array.from(rows.flat());
        const both = quotes([1, 9, 11, 10, 5, 7], [1, 19, 23, 20, 6, 8]);
        assert.ok(market.apply({ market: 1, names: ["SAIL", "BANK"], places: [0, 1], quotes: both }));
        assert.ok(!market.apply({ market: 1, names: [], places: [0], quotes: quotes([2, 9, 11, 12, 5, 9]) }));
        assert.deepEqual([market.direction, market.newest], [[1, 0], 9]);
        assert.equal(market.change(0).toFixed(2), "0.20");
        assert.deepEqual(market.order("", "symbol", 1), [1, 0]);
        assert.deepEqual(market.order("", "change", -1), [0, 1]);
        assert.deepEqual(market.order("", "spread", -1), [1, 0]);
        assert.deepEqual(market.order("sai", "last", -1), [0]);
        assert.deepEqual(market.breadth(), { up: 1, down: 0, same: 1 });
        market.last[0] = 7;
        market.sample();
        assert.deepEqual(market.trend(0), [7]);
        for (let count = 1; count < 70; count++) {
            market.last[0] = count;
            market.sample();
        }
        assert.deepEqual(market.trend(0), Array.from({ length: 60 }, (_, index) => index + 10));
        assert.ok(market.apply({ market: 2, names: [], places: [], quotes: quotes() }));
        assert.deepEqual(market.names, []);
    },
    "Market: patterns"() {
        const match = (pattern, name) => matcher(pattern)(name);
        const good = [
            ["", "X"], ["ank", "BANK.A"], ["BANK.*", "BANK.A"], ["*", "X"], ["B*K?A", "BANK.A"], ["x, s?il", "SAIL"], ["*A*A", "AAA"],
        ];
        for (const [pattern, name] of good) assert.ok(match(pattern, name), `${pattern} ${name}`);
        const bad = [["BANK", "SAIL"], ["?", "XY"], ["BANK.*", "BAN"], ["*B", "ABA"]];
        for (const [pattern, name] of bad) assert.ok(!match(pattern, name), `${pattern} ${name}`);
        assert.ok(!match("*A".repeat(16) + "B", "A".repeat(32)), "and soon");
    },
    "Backoff: doubles up to half a minute, random in its upper half"() {
        assert.deepEqual([0, 1, 2, 20].map((failures) => backoff(failures, () => 1)), [250, 500, 1000, 30_000]);
        assert.equal(backoff(2, () => 0), 500);
    },
};

let failed = false;
for (const [name, test] of Object.entries(tests)) {
    try {
        test();
        console.log(`ok ${name}`);
    } catch (error) {
        failed = true;
        console.log(`not ok ${name}: ${error.message.replaceAll("\n", " ")}`);
    }
}
process.exitCode = failed ? 1 : 0;
