// Who is present: each node of the hub tells its own part, counted by incarnation and version.

export class Attendance {
    #nodes = new Map();
    #connection = 0;

    /** Everything that was told on an earlier connection is replaced by what this one tells. */
    reconnected() {
        this.#connection++;
    }

    /** Takes over a frame `members`. False: some were missed, and all have to be asked for. */
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

    /** How many connections are present, told or not. */
    get total() {
        return [...this.#nodes.values()].reduce((sum, part) => sum + Math.max(part.total, part.members.size), 0);
    }

    /** A line per user, by name: the liveliest status of their connections, and how many these are. */
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
