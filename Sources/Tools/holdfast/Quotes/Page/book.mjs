// What this client knows of the market: see docs/quotes-protocol.md. No clock, no network.

/** Thrown for a message that breaks the protocol. */
export class GarbageError extends Error {}

const mostSymbols = 100_000;
const mostQuotes = 10_000;
const mostTicks = 10_000;
const mostGarbage = 3;
/** Numbers of a quote: version, bid, ask, last, volume, time. */
export const fields = 6;

/** What the owner of the connection has to do after a message. */
export const Order = { nothing: 0, resync: 1, close: 2 };

export class Book {
    /** Symbols by their place in `shown`; a place stays the same for as long as the market does. */
    names = [];
    /** The newest known quote of each symbol, `fields` numbers each. */
    shown = new Float64Array(0);
    /** Which run of the market this is. */
    market = null;
    /** The round of the last resync. */
    round = 0;
    counts = { ticks: 0, messages: 0, stale: 0, gaps: 0, resyncs: 0, conflated: 0, garbage: 0 };

    #placeByName = new Map();
    #changed = new Set();
    // By the server's number of a symbol, for one connection: its place, whether differences can be added, and to what.
    #places = new Int32Array(0);
    #isCurrent = new Uint8Array(0);
    #base = new Float64Array(0);
    #sequence = 0;
    #isWelcome = false;
    #garbage = 0;
    #complete = new Set();

    /** A connection has no memory: what is known is shown on, and is not current. */
    connected() {
        this.#isWelcome = false;
        this.#sequence = 0;
        this.#garbage = 0;
        this.round = 0;
        this.#complete.clear();
    }

    /** Whether this subscription's snapshot of the last round has come in full. */
    isComplete(subscription) {
        return this.#complete.has(subscription);
    }

    /** The places that changed since the last call. */
    takeChanged() {
        const places = [...this.#changed];
        this.#changed.clear();
        return places;
    }

    /** Takes a message in, and says what to do. */
    apply(message) {
        try {
            return this.#apply(message);
        } catch (error) {
            if (error instanceof GarbageError) return this.garbage();
            throw error;
        }
    }

    /** What cannot be trusted is counted and answered like a gap; the third time the connection is given up. */
    garbage() {
        this.counts.garbage++;
        this.#isCurrent.fill(0);
        return ++this.#garbage === mostGarbage ? Order.close : this.#resync();
    }

    #apply(message) {
        if (message === null || typeof message !== "object") throw new GarbageError("a message is no object");
        switch (message.type) {
            case "welcome": return this.#welcome(message);
            case "snapshot": return this.#follow(message, this.#snapshot);
            case "ticks": return this.#follow(message, this.#ticks);
            default: return Order.nothing;
        }
    }

    #welcome({ version, market, symbols }) {
        if (version !== 1) return Order.close;
        number(market, "market");
        if (number(symbols, "symbols") > mostSymbols) return Order.close;
        if (market !== this.market) {
            this.market = market;
            this.names = [];
            this.shown = new Float64Array(symbols * fields);
            this.#placeByName.clear();
            this.#changed.clear();
        }
        this.#isWelcome = true;
        this.#places = new Int32Array(symbols).fill(-1);
        this.#isCurrent = new Uint8Array(symbols);
        this.#base = new Float64Array(symbols * fields);
        return Order.nothing;
    }

    /** Counts a numbered message. Behind a gap nothing is current: differences are of no use until a symbol has come in full again. */
    #follow(message, take) {
        if (!this.#isWelcome) throw new GarbageError("there was no welcome");
        const sequence = number(message.seq, "seq");
        if (sequence <= this.#sequence) return Order.nothing;
        const isGap = sequence !== this.#sequence + 1;
        this.#sequence = sequence;
        this.counts.messages++;
        if (isGap) {
            this.counts.gaps++;
            this.#isCurrent.fill(0);
        }
        take.call(this, message);
        return isGap ? this.#resync() : Order.nothing;
    }

    #resync() {
        this.#complete.clear();
        this.counts.resyncs++;
        this.round++;
        return Order.resync;
    }

    #snapshot(message) {
        for (const quote of list(message.quotes, mostQuotes)) this.#quote(quote);
        if (message.last === true && number(message.round, "round") === this.round) this.#complete.add(number(message.id, "id"));
    }

    #quote(quote) {
        if (list(quote, Infinity).length < 2 + fields) throw new GarbageError("a quote is too short");
        const symbol = this.#symbol(quote[0]);
        for (let index = 0; index < fields; index++) number(quote[2 + index], "a quote's field");
        const place = this.#place(quote[1]);
        this.#places[symbol] = place;
        this.#isCurrent[symbol] = 1;
        for (let index = 0; index < fields; index++) this.#base[symbol * fields + index] = quote[2 + index];
        this.#show(symbol, place);
    }

    #ticks(message) {
        const { conflated } = message;
        if (conflated !== undefined && conflated !== null) this.counts.conflated += number(conflated, "conflated");
        const ticks = list(message.ticks, mostTicks);
        this.counts.ticks += ticks.length;
        for (let index = 0; index < ticks.length; index++) this.#tick(ticks[index]);
    }

    #tick(tick) {
        const symbol = this.#symbol(list(tick, Infinity)[0]);
        const place = this.#places[symbol];
        if (place < 0) throw new GarbageError(`symbol ${symbol} was in no snapshot`);
        const mask = number(tick[2], "a mask");
        if (mask > 31) throw new GarbageError(`a mask is ${mask}`);
        if (this.#isCurrent[symbol] === 0) return;
        const base = this.#base;
        const at = symbol * fields;
        base[at] = number(tick[1], "a version");
        let next = 3;
        for (let field = 1, bits = mask; bits !== 0; field++, bits >>= 1) {
            if (bits & 1) base[at + field] = number(base[at + field] + tick[next++], "a sum");
        }
        this.#show(symbol, place);
    }

    /** What is shown never goes back. */
    #show(symbol, place) {
        const from = symbol * fields;
        const to = place * fields;
        if (this.#base[from] <= this.shown[to]) {
            this.counts.stale++;
            return;
        }
        for (let index = 0; index < fields; index++) this.shown[to + index] = this.#base[from + index];
        this.#changed.add(place);
    }

    #symbol(value) {
        if (number(value, "a symbol") >= this.#places.length) throw new GarbageError(`there is no symbol ${value}`);
        return value;
    }

    #place(name) {
        const known = this.#placeByName.get(name);
        if (known !== undefined) return known;
        if (typeof name !== "string" || name === "" || name.length > 32) throw new GarbageError("a symbol's name is none");
        const place = this.names.length;
        if ((place + 1) * fields > this.shown.length) throw new GarbageError("more names than symbols");
        this.names.push(name);
        this.#placeByName.set(name, place);
        this.shown[place * fields] = -1;
        return place;
    }
}

function number(value, name) {
    if (!Number.isSafeInteger(value) || value < 0) throw new GarbageError(`${name} is ${value}`);
    return value;
}

function list(value, most) {
    if (!Array.isArray(value) || value.length > most) throw new GarbageError("a list is none, or too long");
    return value;
}
