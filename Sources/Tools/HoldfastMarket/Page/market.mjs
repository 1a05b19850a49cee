// The page's copy of the market: shows, searches and sorts it.

/** The number of points of a sparkline. */
const points = 60;

export class Market {
    /** The current run of the server's market; a new run starts with an empty market. */
    run = null;
    names;
    bid;
    ask;
    last;
    volume;
    time;
    version;
    /** The first price seen, from which changes are calculated. */
    first;
    /** 1 after a rise, -1 after a fall, 0 at first. */
    direction;
    history;
    /** The number of samples at the time when a symbol was added. */
    since;
    /** The number of samples so far; the newest is at index `(samples - 1) % points`. */
    samples = 0;
    /** The time of the newest quote. */
    newest;

    constructor() {
        this.#forget();
    }

    #forget() {
        for (const column of ["names", "bid", "ask", "last", "volume", "time", "version", "first", "direction", "history", "since"]) {
            this[column] = [];
        }
        this.newest = 0;
    }

    /** Applies an update from the worker. Returns true if the set of symbols has changed. */
    apply({ market, places, quotes, names }) {
        const isOther = market !== this.run;
        if (isOther) this.#forget();
        this.run = market;
        for (const name of names) this.names.push(name);
        for (let index = 0, at = 0; index < places.length; index++, at += 6) this.#quote(places[index], quotes, at);
        return isOther || names.length > 0;
    }

    #quote(place, quotes, at) {
        const last = quotes[at + 3];
        if (this.first[place] === undefined) {
            this.first[place] = last;
            this.direction[place] = 0;
            this.history[place] = new Float64Array(points);
            this.since[place] = this.samples;
        } else if (last !== this.last[place]) {
            this.direction[place] = last > this.last[place] ? 1 : -1;
        }
        this.version[place] = quotes[at];
        this.bid[place] = quotes[at + 1];
        this.ask[place] = quotes[at + 2];
        this.last[place] = last;
        this.volume[place] = quotes[at + 4];
        this.time[place] = quotes[at + 5];
        if (this.time[place] > this.newest) this.newest = this.time[place];
    }

    /** Adds a point to every sparkline. */
    sample() {
        const at = this.samples++ % points;
        for (let place = 0; place < this.history.length; place++) {
            if (this.history[place] !== undefined) this.history[place][at] = this.last[place];
        }
    }

    /** Returns the sampled prices of a symbol, oldest first. */
    trend(place) {
        const count = Math.min(points, this.samples - this.since[place]);
        const values = new Array(count);
        for (let index = 0; index < count; index++) values[index] = this.history[place][(this.samples - count + index) % points];
        return values;
    }

    /** Returns the relative change since the first price seen. */
    change(place) {
        return this.first[place] > 0 ? this.last[place] / this.first[place] - 1 : 0;
    }

    /** Returns the indices of the matching symbols, in order. `key`: symbol, last, change, spread or volume; `sign`: 1 for ascending. */
    order(filter, key, sign) {
        const wanted = matcher(filter);
        const places = [];
        for (let place = 0; place < this.names.length; place++) if (wanted(this.names[place])) places.push(place);
        const { names } = this;
        const byName = (a, b) => (names[a] < names[b] ? -1 : 1);
        if (key === "symbol") return places.sort((a, b) => sign * byName(a, b));
        const values = this.#values(key);
        return places.sort((a, b) => sign * (values(a) - values(b)) || byName(a, b));
    }

    #values(key) {
        if (key === "change") return (place) => this.change(place);
        if (key === "spread") return (place) => this.ask[place] - this.bid[place];
        return (place) => this[key][place];
    }

    /** Returns how many prices are above, at and below the first one seen. */
    breadth() {
        let up = 0;
        let down = 0;
        for (let place = 0; place < this.last.length; place++) {
            if (this.last[place] > this.first[place]) up++;
            else if (this.last[place] < this.first[place]) down++;
        }
        return { up, down, same: this.names.length - up - down };
    }
}

/**
 * Returns a function that tests whether a name contains the text, or matches a pattern with `*` (any text) or `?` (one character);
 * several may be given.
 */
export function matcher(filter) {
    const parts = filter.trim().toUpperCase().split(/[\s,]+/).filter((part) => part !== "");
    if (parts.length === 0) return () => true;
    const tests = parts.map((part) => (/[*?]/.test(part) ? (name) => matches(part, name) : (name) => name.includes(part)));
    return (name) => tests.some((test) => test(name.toUpperCase()));
}

/** Backtracks only to the last `*`, so the time is bounded by the product of both lengths. */
function matches(pattern, name) {
    let at = 0;
    let star = -1;
    let retry = 0;
    for (let index = 0; index < name.length; ) {
        if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index]) && pattern[at] !== "*") {
            at++;
            index++;
        } else if (pattern[at] === "*") {
            star = at++;
            retry = index;
        } else if (star >= 0) {
            at = star + 1;
            index = ++retry;
        } else return false;
    }
    while (pattern[at] === "*") at++;
    return at === pattern.length;
}
