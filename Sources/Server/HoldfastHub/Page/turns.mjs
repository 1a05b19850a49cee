// One thing after the other: what changes the store has ended when the next begins.

import { most } from "./policy.mjs";

export class Turns {
    #waiting = [];
    #isWorking = false;
    #desk;

    constructor(desk) {
        this.#desk = desk;
    }

    /** What the work gives, or its failure. */
    add(work) {
        return new Promise((done, fail) => {
            this.#waiting.push({ work, done, fail });
            this.#goOn();
        });
    }

    /** A frame of the present connection; if too many wait, that one is given up. */
    addFrame(frame) {
        const { link } = this.#desk;
        if (this.#waiting.length >= most.frames) return link.lost();
        this.#waiting.push({ frame, connection: link.connection });
        this.#goOn();
    }

    async #goOn() {
        if (this.#isWorking) return;
        this.#isWorking = true;
        while (this.#waiting.length > 0) {
            const { work, done, fail, frame, connection } = this.#waiting.shift();
            try {
                if (frame === undefined) done(await work());
                // What came by an earlier connection is fetched again by this one.
                else if (connection === this.#desk.link.connection) await this.#desk.takeIn(this.#gathered(frame, connection));
            } catch (error) {
                if (fail !== undefined) fail(error);
                else await this.#desk.storeFailed(error);
            }
        }
        this.#isWorking = false;
    }

    /** Entries that have come meanwhile are written together. */
    #gathered(frame, connection) {
        if (frame.t !== "msg" || !Array.isArray(frame.items)) return frame;
        const items = [...frame.items];
        while (items.length < most.batch) {
            const next = this.#waiting[0];
            const isMore = next?.frame?.t === "msg" && next.connection === connection && next.frame.room === frame.room
                && next.frame.epoch === frame.epoch && Array.isArray(next.frame.items);
            if (!isMore) break;
            items.push(...this.#waiting.shift().frame.items);
        }
        return { ...frame, items };
    }
}
