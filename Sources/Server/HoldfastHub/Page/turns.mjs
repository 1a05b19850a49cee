// Runs changes of the store one after another: each begins when the previous one has ended.

import { most } from "./policy.mjs";

export class Turns {
    #waiting = [];
    #isWorking = false;
    #client;

    constructor(client) {
        this.#client = client;
    }

    /** Returns the result of the work, or its failure. */
    add(work) {
        return new Promise((done, fail) => {
            this.#waiting.push({ work, done, fail });
            this.#goOn();
        });
    }

    /** Adds a frame of the current connection; if too many wait, the connection is given up. */
    addFrame(frame) {
        const { link } = this.#client;
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
                // Frames of an earlier connection are fetched again by the current one.
                else if (connection === this.#client.link.connection) await this.#client.takeIn(this.#gathered(frame, connection));
            } catch (error) {
                if (fail !== undefined) fail(error);
                else await this.#client.storeFailed(error);
            }
        }
        this.#isWorking = false;
    }

    /** Joins waiting frames of entries, so that they are written together. */
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
