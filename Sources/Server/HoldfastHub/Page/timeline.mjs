// Folds entries into the messages that a chat shows. Edits, deletions and reactions are messages about other messages, and may arrive
// before them.

/** A message with its edits and reactions. */
class Shown {
    text = null;
    editedBy = 0;
    isDeleted = false;
    /** The users of each reaction. */
    reactions = new Map();

    constructor(entry) {
        Object.assign(this, { seq: entry.seq, id: entry.id, user: entry.user, at: entry.at, device: entry.device, type: entry.type });
        this.text = textOf(entry.body);
    }
}

export class Timeline {
    /** Messages by sequence number. */
    messages = new Map();
    #notes = new Map();
    #order = null;

    clear() {
        this.messages.clear();
        this.#notes.clear();
        this.#order = null;
    }

    /** Adds entries from anywhere in the room, each once. Returns the numbers of the changed messages. */
    add(entries) {
        const changed = new Set();
        for (const entry of entries) {
            if (entry.about === undefined || !entry.type.startsWith("holdfast.")) {
                if (this.messages.has(entry.seq)) continue;
                this.messages.set(entry.seq, new Shown(entry));
                changed.add(entry.seq);
                this.#order = null;
                for (const note of this.#notes.get(entry.seq)?.values() ?? []) this.#apply(note);
            } else {
                const { seq } = entry.about;
                if (!this.#notes.has(seq)) this.#notes.set(seq, new Map());
                this.#notes.get(seq).set(entry.seq, entry);
                changed.add(seq);
                this.#apply(entry);
            }
        }
        return changed;
    }

    /** Removes the entries below a number, as if they had never been added; returns the removed messages. */
    trim(first) {
        const gone = this.ordered.filter(({ seq }) => seq < first);
        for (const { seq } of gone) this.messages.delete(seq);
        for (const [about, notes] of this.#notes) {
            if (about >= first) continue;
            for (const seq of notes.keys()) if (seq < first) notes.delete(seq);
            if (notes.size === 0) this.#notes.delete(about);
        }
        this.#order = null;
        return gone;
    }

    /** The messages in the room's order. */
    get ordered() {
        return (this.#order ??= [...this.messages.values()].sort((a, b) => a.seq - b.seq));
    }

    /** Applies a change if its user is allowed to make it, according to the user names from the hub. */
    #apply(note) {
        const shown = this.messages.get(note.about.seq);
        if (shown === undefined) return;
        const mayChange = note.user === shown.user || note.admin === true;
        switch (note.type) {
            case "holdfast.edit":
                if (!mayChange || note.seq < shown.editedBy) return;
                [shown.text, shown.editedBy] = [textOf(note.body), note.seq];
                return;
            case "holdfast.delete":
                if (mayChange) shown.isDeleted = true;
                return;
            case "holdfast.react":
                this.#react(shown, note);
        }
    }

    #react(shown, { seq, user, body }) {
        if (typeof body?.key !== "string" || body.key.length > 32) return;
        if (!shown.reactions.has(body.key)) shown.reactions.set(body.key, new Map());
        const users = shown.reactions.get(body.key);
        if ((users.get(user)?.seq ?? 0) < seq) users.set(user, { seq, isOn: body.on === true });
    }
}

/** Returns the text of a message; null if it has none. */
function textOf(body) {
    return typeof body?.text === "string" ? body.text : null;
}

/** Returns the users of each reaction of a message. */
export function reactionsOf(shown) {
    const all = [...shown.reactions].map(([key, users]) => [key, [...users].filter(([, { isOn }]) => isOn).map(([user]) => user)]);
    return all.filter(([, users]) => users.length > 0);
}
