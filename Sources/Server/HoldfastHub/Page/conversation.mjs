// The messages that a chat shows for a room: entries, then acked messages without an entry yet, then waiting ones, then failed ones.

import { reactionsOf, Timeline } from "./timeline.mjs";

/** If nobody has scrolled up: with more messages than this, only the last ones stay, and the others are loaded again on demand. */
const [tooMany, enough] = [600, 300];
/** The maximum number of acked messages that are shown if the user may write but not read. */
const ackedMost = 200;

export class Conversation {
    timeline = new Timeline();
    /** The sequence number of the first entry in the conversation. */
    first = Infinity;
    reachesBeginning = false;

    #user;
    #isAdmin = false;
    /** Own messages by ID: the numbers of their entries, and the acked ones without an entry so far. */
    #own = new Map();
    #acked = new Map();
    /** The view of each entry, cached until something about it changes. */
    #views = new Map();
    /** The sequence numbers that the outbox affects, and the read markers, at the time when the views were made. */
    #changing = new Set();
    #markers = new Map();

    constructor(user) {
        this.#user = user;
    }

    get user() {
        return this.#user;
    }

    /** Sets the user as the hub reports it. */
    set user(user) {
        if (user === this.#user) return;
        this.#user = user;
        this.#own.clear();
        for (const { id, seq, user } of this.timeline.ordered) this.#noteOwn(id, seq, user);
        this.#views.clear();
    }

    clear() {
        this.timeline.clear();
        for (const all of [this.#own, this.#acked, this.#views, this.#changing, this.#markers]) all.clear();
        [this.first, this.reachesBeginning] = [Infinity, false];
    }

    take(items) {
        if (items.length === 0) return;
        for (const seq of this.timeline.add(items)) this.#views.delete(seq);
        this.first = Math.min(this.first, items[0].seq);
        if (this.first <= 1) this.reachesBeginning = true;
        for (const { id, seq, user } of items) this.#noteOwn(id, seq, user);
    }

    /**
     * Anybody may publish with an ID that they have read. So only entries of the own user count for an own message, and only the first
     * one.
     */
    #noteOwn(id, seq, user) {
        if (user !== this.#user) return;
        this.#acked.delete(id);
        const known = this.#own.get(id);
        if (known <= seq) return;
        this.#views.delete(known);
        this.#own.set(id, seq);
    }

    /** Keeps an acked message of the user in its place until its entry arrives. */
    stored({ id, seq, row }) {
        if (row?.type !== "chat.text" || this.#own.has(id)) return;
        this.#acked.set(id, { ...row, seq });
        if (this.#acked.size > ackedMost) this.#acked.delete(this.#acked.keys().next().value);
    }

    /** Removes the oldest messages if there are too many; returns whether it did. */
    trim() {
        const { ordered } = this.timeline;
        if (ordered.length <= tooMany) return false;
        this.first = ordered.at(-enough).seq;
        this.reachesBeginning = false;
        for (const { seq, id } of this.timeline.trim(this.first)) {
            this.#views.delete(seq);
            if (this.#own.get(id) === seq) this.#own.delete(id);
        }
        return true;
    }

    /**
     * Returns everything that is shown, in order. `room`: the client's state of the room. A view stays the same object until its content
     * changes. Its `key` is unique, and the key of an own message stays when its entry arrives.
     */
    views(room) {
        const waiting = room?.outbox ?? [];
        const about = groupBySeq(waiting);
        this.#forgetChanged(room, about);
        const placed = this.timeline.ordered.map((shown) => {
            let view = this.#views.get(shown.seq);
            if (view === undefined) this.#views.set(shown.seq, (view = this.#view(shown, about.get(shown.seq) ?? [])));
            return view;
        });
        const rest = [];
        for (const row of this.#acked.values()) if (row.seq > (room?.seq ?? 0)) rest.push(this.#pending(row, "stored"));
        const sent = room?.hasState ? room.sentUpTo : 0;
        for (const row of waiting) {
            if (!row.about) rest.push(this.#pending(row, row.state === "burning" ? "failed" : row.cseq <= sent ? "sent" : "queued"));
        }
        for (const row of room?.failed ?? []) if (!row.about || row.type === "holdfast.edit") rest.push(this.#pending(row, "failed"));
        return [...placed, ...rest.filter(({ id }) => !this.#own.has(id))];
    }

    #forgetChanged(room, about) {
        const isAdmin = room?.rights.includes("a") ?? false;
        if (isAdmin !== this.#isAdmin) this.#views.clear();
        this.#isAdmin = isAdmin;
        for (const seq of this.#changing) this.#views.delete(seq);
        for (const seq of about.keys()) this.#views.delete(seq);
        this.#changing = new Set(about.keys());
        for (const [reader, seq] of room?.markers ?? []) {
            const before = this.#markers.get(reader) ?? 0;
            if (seq === before || reader === this.#user) continue;
            this.#markers.set(reader, seq);
            const { ordered } = this.timeline;
            for (let index = ordered.length - 1; index >= 0 && ordered[index].seq > before; index--) {
                const shown = ordered[index];
                if (shown.seq <= seq && shown.user === this.#user) this.#views.delete(shown.seq);
            }
        }
    }

    #view(shown, changes) {
        const { id, seq, at, text, type, isDeleted } = shown;
        const own = shown.user === this.#user;
        const seenBy = [];
        if (own) for (const [reader, upTo] of this.#markers) if (upTo >= seq) seenBy.push(reader);
        const view = {
            key: this.#own.get(id) === seq ? `own ${id}` : `seq ${seq}`,
            id, seq, user: shown.user, at, text, type, own, seenBy: seenBy.sort(), isDeleted, isEdited: shown.editedBy > 0,
            mayChange: own || this.#isAdmin, stage: own ? (seenBy.length > 0 ? "seen" : "stored") : undefined,
            reactions: reactionsOf(shown).map(([key, users]) => ({ key, users, mine: users.includes(this.#user) })),
        };
        for (const row of changes) this.#change(view, row);
        return view;
    }

    /** Shows a message as it will look when the hub has accepted the waiting change. */
    #change(view, { type, body }) {
        view.stage = view.own ? "queued" : undefined;
        if (type === "holdfast.edit") [view.text, view.isEdited] = [body.text, true];
        else if (type === "holdfast.delete") view.isDeleted = true;
        else if (type === "holdfast.react") {
            const known = view.reactions.find(({ key }) => key === body.key);
            const users = new Set(known?.users ?? []);
            body.on ? users.add(this.#user) : users.delete(this.#user);
            view.reactions = view.reactions.filter(({ key }) => key !== body.key);
            if (users.size > 0) view.reactions.push({ key: body.key, users: [...users], mine: body.on });
        }
    }

    #pending(row, stage) {
        return {
            key: `own ${row.id}`, id: row.id, seq: row.seq ?? 0, user: this.#user, at: row.at, text: row.body?.text ?? null, type: row.type,
            own: true, seenBy: [], stage, ...(stage === "failed" && { failure: row.failure, mayRetry: row.state === "failed" }),
        };
    }
}

function groupBySeq(rows) {
    const groups = new Map();
    for (const row of rows) {
        if (!row.about) continue;
        if (!groups.has(row.about.seq)) groups.set(row.about.seq, []);
        groups.get(row.about.seq).push(row);
    }
    return groups;
}
