// Older entries: from the store, or else from the hub. Each request has a number and a deadline.

import { times } from "./policy.mjs";

export class History {
    #client;
    #questions = new Map();
    #number = 0;

    constructor(client) {
        this.#client = client;
    }

    async earlier(name, before, limit) {
        const { link, store, time } = this.#client;
        const room = this.#client.rooms.get(name);
        if (room !== undefined && before > room.first) {
            const items = await store.entries(name, before, limit);
            if (items.length > 0) return { items, isFirst: items[0].seq <= 1 };
        }
        if (before <= 1) return { items: [], isFirst: true };
        if (!link.isUp || !room?.isLive) throw new Error("There is no connection to load more messages.");
        const ref = ++this.#number;
        return new Promise((done, fail) => {
            const cancel = time.after(times.history, () => this.#end(ref, new Error("The hub does not answer.")));
            this.#questions.set(ref, { done, fail, cancel, name, before });
            link.say({ t: "hist", ref, room: name, before, limit });
        });
    }

    async takePage(room, { ref, epoch, items = [], base = 1 }) {
        const question = this.#questions.get(ref);
        if (question === undefined || question.name !== room.name) return;
        if (epoch !== room.epoch) return this.#end(ref, new Error("The room has a new log."));
        if (items.some((item, index) => item.seq !== question.before - items.length + index)) {
            return this.#end(ref, new Error("The hub sent a page with gaps."));
        }
        if (items.length > 0) room.first = await this.#client.store.prepend(room.name, epoch, items);
        this.#questions.delete(ref);
        question.cancel();
        question.done({ items, isFirst: items.length === 0 || items[0].seq <= base });
    }

    /** The hub has refused a request. */
    refused({ ref, code, text }) {
        this.#end(ref, new Error(text || `The hub refused it (${code}).`));
    }

    disconnected() {
        for (const ref of [...this.#questions.keys()]) this.#end(ref, new Error("The connection was lost."));
    }

    #end(ref, error) {
        const question = this.#questions.get(ref);
        if (question === undefined) return;
        this.#questions.delete(ref);
        question.cancel();
        question.fail(error);
    }
}
