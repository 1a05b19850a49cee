// The parts of docs/rooms-protocol.md that this client uses.

export const subprotocol = "holdfast.rooms.v1.json";
/** The error codes that the client handles. */
export const codes = { malformed: 1001, expired: 2002, foreignDevice: 2003, rights: 3001, notJoined: 3003, size: 4002, crowded: 4003 };
/** The close codes of connections. */
export const closings = { replaced: 4000, expired: 4001, isFinal: (code) => code >= 4100 && code <= 4199 };

/** Failures of messages that the client decides without the hub. */
export const failures = {
    expired: { code: 4004, text: "It waited too long to be sent." },
    tooLong: { code: codes.size, text: "It is longer than this hub allows." },
    uncertain: { code: 0, text: "It may have been stored; the hub no longer knows." },
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the number of bytes of a value in a frame. */
export function lengthOf(value) {
    return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Returns whether the value is a valid text of 1 to `most` bytes. */
function isText(text, most) {
    return typeof text === "string" && text !== "" && !/\p{Surrogate}/u.test(text) && new TextEncoder().encode(text).length <= most;
}

/** Returns whether a payload is a JSON value of at most 64 levels. */
function isPayload(body) {
    let text;
    try {
        text = JSON.stringify(body);
    } catch {
        return false;
    }
    if (text === undefined) return false;
    let level = 0;
    for (const [sign] of text.replace(/"(?:[^"\\]|\\.)*"/g, "").matchAll(/[[\]{}]/g)) {
        level += sign === "[" || sign === "{" ? 1 : -1;
        if (level > 64) return false;
    }
    return true;
}

/**
 * Returns what is wrong with a room's name, or with a message for the room, in words for people; undefined: nothing. The hub would
 * refuse such a message for good, or close the connection.
 */
export function check(name, message) {
    if (!isText(name, 128) || /[\0-\x1f\x7f-\x9f]/.test(name)) return "A room's name must have 1 to 128 bytes, without control characters.";
    if (message === undefined) return;
    const { type, body, about, id } = message;
    if (!isText(type, 64)) return "The type of a message must have 1 to 64 bytes.";
    if (!isPayload(body)) return "The body of a message must be JSON of at most 64 levels.";
    if (id !== undefined && !uuid.test(id)) return "The id of a message must be a UUID.";
    const isPlace = (about) => isText(about.kind, 64) && Number.isSafeInteger(about.seq) && about.seq > 0;
    if (about && !isPlace(about)) return "The message that it refers to is invalid.";
}

/** Returns the frame that publishes a row of the outbox. `now`: the hub's time. */
export function publication(room, row, now) {
    const { cseq, id } = row;
    if (row.state === "burning") return { t: "pub", room, cseq, id, void: true };
    // A wrong local clock must not date a message in the future.
    const at = Math.min(row.at, Math.round(now));
    return { t: "pub", room, cseq, id, at, type: row.type, ...(row.about && { about: row.about }), body: row.body };
}
