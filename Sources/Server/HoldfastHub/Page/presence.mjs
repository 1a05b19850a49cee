// The users present: each node of the hub reports its own part, with an incarnation and a version.

export class Attendance {
    #nodes = new Map();
    #connection = 0;

    /** Data from earlier connections is replaced by the data of the new one. */
    reconnected() {
        this.#connection++;
    }

    /** Applies a `members` frame. Returns false if changes were missed, so that all members must be requested. */
    apply({ node, incarnation, version, full, total, members = [], gone = [] }) {
        for (const [name, part] of this.#nodes) if (part.connection !== this.#connection && name !== node) this.#nodes.delete(name);
        const part = this.#nodes.get(node);
        const isSame = part?.incarnation === incarnation;
        if (isSame && part.connection === this.#connection && version <= part.version) return true;
        const follows = isSame && part.connection === this.#connection && version === part.version + 1;
        if (!full && !follows) return false;
        const present = full ? new Map() : part.members;
        for (const member of members) present.set(member.conn, member);
        for (const connection of gone) present.delete(connection);
        this.#nodes.set(node, { connection: this.#connection, incarnation, version, total: total ?? present.size, members: present });
        return true;
    }

    /** The number of connections present, including those without details. */
    get total() {
        return [...this.#nodes.values()].reduce((sum, part) => sum + Math.max(part.total, part.members.size), 0);
    }

    /** One item per user, by name: the most active status of the user's connections, and their number. */
    get users() {
        const users = new Map();
        for (const { members } of this.#nodes.values()) {
            for (const { user, status = "online" } of members.values()) {
                const known = users.get(user);
                users.set(user, {
                    user, connections: (known?.connections ?? 0) + 1,
                    status: known === undefined || known.status !== "online" ? status : "online",
                });
            }
        }
        return [...users.values()].sort((a, b) => a.user.localeCompare(b.user));
    }
}
