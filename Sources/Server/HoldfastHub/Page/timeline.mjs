// Entries folded into what a chat shows. Edits, deletions and reactions are messages about messages, and may come before these.

/** A message as it is shown. */
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
    /** Messages by number. */
    messages = new Map();
    #notes = new Map();
    #order = null;

    clear() {
        this.messages.clear();
        this.#notes.clear();
        this.#order = null;
    }

    /** Entries of any place, each once. Returns the numbers of the messages that have changed. */
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

    /** Forgets the entries below a number, as if they had never been added; returns the messages among them. */
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

    /** In the room's order. */
    get ordered() {
        return (this.#order ??= [...this.messages.values()].sort((a, b) => a.seq - b.seq));
    }

    /** Whether somebody may change a message is judged here, by what the hub says of who they are. */
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

/** A line for a message of a type that is not known. */
function textOf(body) {
    return typeof body?.text === "string" ? body.text : null;
}

/** The users who stand behind each reaction of a message. */
export function reactionsOf(shown) {
    const all = [...shown.reactions].map(([key, users]) => [key, [...users].filter(([, { isOn }]) => isOn).map(([user]) => user)]);
    return all.filter(([, users]) => users.length > 0);
}
