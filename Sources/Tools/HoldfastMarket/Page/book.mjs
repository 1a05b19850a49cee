// The client's copy of the market: see docs/quotes-protocol.md. It uses no clock and no network.

/** Thrown for a message that violates the protocol. */
export class GarbageError extends Error {}

const mostSymbols = 100_000;
const mostQuotes = 10_000;
const mostTicks = 10_000;
const mostGarbage = 3;
/** The numbers of a quote: version, bid, ask, last, volume, time. */
export const fields = 6;

/** What the owner of the connection must do after a message. */
export const Order = { nothing: 0, resync: 1, close: 2 };

export class Book {
    /** Symbols by their index in `shown`; an index stays the same for the lifetime of the market. */
    names = [];
    /** The newest known quote of each symbol, `fields` numbers each. */
    shown = new Float64Array(0);
    /** The current run of the market. */
    market = null;
    /** The round of the last resync. */
    round = 0;
    counts = { ticks: 0, messages: 0, stale: 0, gaps: 0, resyncs: 0, conflated: 0, garbage: 0 };

    #placeByName = new Map();
    #changed = new Set();
    // Per server number of a symbol, for one connection: its index, whether differences can be applied, and their base.
    #places = new Int32Array(0);
    #isCurrent = new Uint8Array(0);
    #base = new Float64Array(0);
    #sequence = 0;
    #isWelcome = false;
    #garbage = 0;
    #complete = new Set();

    /** A connection has no memory: known quotes stay visible, but are not current. */
    connected() {
        this.#isWelcome = false;
        this.#sequence = 0;
        this.#garbage = 0;
        this.round = 0;
        this.#complete.clear();
    }

    /** Returns whether this subscription's snapshot of the last round has arrived completely. */
    isComplete(subscription) {
        return this.#complete.has(subscription);
    }

    /** Returns the indices that changed since the last call. */
    takeChanged() {
        const places = [...this.#changed];
        this.#changed.clear();
        return places;
    }

    /** Processes a message, and returns what to do. */
    apply(message) {
        try {
            return this.#apply(message);
        } catch (error) {
            if (error instanceof GarbageError) return this.garbage();
            throw error;
        }
    }

    /** Counts an invalid message and handles it like a gap; the third one closes the connection. */
    garbage() {
        this.counts.garbage++;
        this.#isCurrent.fill(0);
        return ++this.#garbage === mostGarbage ? Order.close : this.#resync();
    }

    #apply(message) {
        if (message === null || typeof message !== "object") throw new GarbageError("a message is not an object");
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

    /**
     * Checks the number of a message. After a gap, nothing is current: differences are useless until a symbol has arrived completely
     * again.
     */
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

    /** Updates a shown quote, which never goes back. */
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
        if (typeof name !== "string" || name === "" || name.length > 32) throw new GarbageError("a symbol's name is invalid");
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
    if (!Array.isArray(value) || value.length > most) throw new GarbageError("a list is missing or too long");
    return value;
}
