// Each tab has its own device, because two tabs with one device would use numbers twice. A tab holds the lock of its place as long as it
// lives. Unsent messages of a closed tab are sent by an open one.

import { IndexedBackend, MemoryBackend, Store } from "./store.mjs";

const places = 32;
/** How long a reloaded tab waits for its previous place, while its old document is still closing. */
const patience = 3_000;
const rescueInterval = 5_000;
/** The interval for places of closed tabs without waiting messages: they change only if a tab takes them, and this tab may miss that. */
const idleInterval = 60_000;
/** How long messages of a closed tab are sent before the next place is checked. */
const sendingLasts = 20_000;

const nameOf = (user, place) => `holdfast rooms ${user} ${place}`;
const memory = "holdfast place";

/**
 * A tab's own store; `isDurable`: whether it outlives the page. Without locks or a database, as on a page without TLS, nothing is kept.
 */
export class Place {
    static async take(user) {
        if (navigator.locks === undefined || globalThis.indexedDB === undefined) return new Place(user, null, new MemoryBackend());
        const remembered = sessionStorage.getItem(`${memory} ${user}`);
        const release = remembered === null ? null : await locked(nameOf(user, remembered), patience);
        if (release !== null) return Place.#open(user, remembered, release);
        for (let place = 0; place < places; place++) {
            const release = await locked(nameOf(user, place), 0);
            if (release !== null) return Place.#open(user, place, release);
        }
        return new Place(user, null, new MemoryBackend());
    }

    static async #open(user, place, release) {
        try {
            const backend = await IndexedBackend.open(nameOf(user, place));
            sessionStorage.setItem(`${memory} ${user}`, place);
            return new Place(user, Number(place), backend, release);
        } catch {
            release();
            return new Place(user, null, new MemoryBackend());
        }
    }

    constructor(user, number, backend, release = () => {}) {
        Object.assign(this, { user, number, release, isDurable: number !== null, store: new Store(backend) });
    }
}

/** Returns a function that releases the lock, or null if the lock was not available in time. */
function locked(name, patience) {
    return new Promise((done) => {
        const hold = (lock) => (lock === null ? done(null) : new Promise((release) => done(release)));
        if (patience === 0) navigator.locks.request(name, { ifAvailable: true }, hold).catch(() => done(null));
        else navigator.locks.request(name, { signal: AbortSignal.timeout(patience) }, hold).catch(() => done(null));
    });
}

/**
 * Sends the messages that closed tabs left behind, repeatedly while this tab lives; this tab adopts their failed messages. `connect`
 * creates a client for a store without starting it. `adopt` takes over failed messages. `isUp`: returns whether this tab has a
 * connection; without one, other clients would not get one either.
 */
export function rescue(user, own, { connect, adopt, isUp }) {
    if (own.number === null) return;
    /** When a free place is checked: at once if it is free twice in a row, because then its tab is not just reloading. */
    const due = new Map();
    const look = async () => {
        if (!isUp()) return;
        const existing = new Set((await indexedDB.databases()).map(({ name }) => name));
        for (let place = 0; place < places; place++) {
            const name = nameOf(user, place);
            if (place === own.number || !existing.has(name)) continue;
            const release = await locked(name, 0);
            if (release === null) {
                due.delete(place);
                continue;
            }
            try {
                const now = Date.now();
                if (!due.has(place)) due.set(place, now);
                else if (due.get(place) <= now && await empty(new Store(await IndexedBackend.open(name)), connect, adopt)) {
                    due.set(place, now + idleInterval);
                }
            } finally {
                release();
            }
        }
    };
    const again = () => look().catch(() => {}).then(() => setTimeout(again, rescueInterval));
    setTimeout(again, rescueInterval);
}

/**
 * Sends the messages of a store, and gives its failed messages away; returns whether nothing is left. The store is closed in any case.
 */
export async function empty(store, connect, adopt) {
    let client = null;
    try {
        const { outbox } = await store.load();
        if (outbox.length > 0) {
            client = connect(store);
            await client.start();
            const deadline = Date.now() + sendingLasts;
            const isHopeful = () => client.waiting > 0 && Date.now() < deadline && client.state !== "refused";
            while (isHopeful()) await new Promise((done) => setTimeout(done, 200));
            client.offline();
        }
        // Adopted before they are removed: a short duplicate is better than a loss.
        const left = await store.load();
        if (left.failed.length > 0) await adopt(left.failed);
        for (const { room, id } of left.failed) await store.discard(room, id);
        return left.outbox.length === 0;
    } finally {
        await (client ?? store).close();
    }
}
