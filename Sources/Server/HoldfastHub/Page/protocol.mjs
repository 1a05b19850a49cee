// Words of docs/rooms-protocol.md that this client uses.

export const subprotocol = "holdfast.rooms.v1.json";
/** Codes of errors that the client itself acts upon. */
export const codes = { malformed: 1001, expired: 2002, foreignDevice: 2003, notJoined: 3003, size: 4002, crowded: 4003 };
/** Codes that a connection is closed with. */
export const closings = { replaced: 4000, expired: 4001, isFinal: (code) => code >= 4100 && code <= 4199 };

/** Why a message failed without a word of the hub. */
export const failures = {
    expired: { code: 4004, text: "It waited too long to be sent." },
    uncertain: { code: 0, text: "It may have been stored; the hub no longer knows." },
};

/** The frame that publishes a row of the outbox. `now`: the hub's time. */
export function publication(room, row, now) {
    const { cseq, id } = row;
    if (row.state === "burning") return { t: "pub", room, cseq, id, void: true };
    // A clock that has been wrong must not make it a message of the future.
    const at = Math.min(row.at, Math.round(now));
    return { t: "pub", room, cseq, id, at, type: row.type, ...(row.about && { about: row.about }), body: row.body };
}
