// Timeouts and limits of this client.

/** Times in milliseconds. */
export const times = {
    /** How long to wait for the answer to hello, to a join, and to a request for older entries. */
    welcome: 15_000, state: 15_000, history: 15_000,
    /** Without an ack for this time, everything is sent again. */
    resend: 10_000,
    /** The time between pings, and the time without any data after a ping that makes a link dead. */
    ping: 5_000, silence: 10_000,
    /** A shorter connection counts as failed. */
    steady: 10_000,
    /** The interval of periodic work. */
    tick: 1_000,
    /** The minimum time between two typing frames. */
    typing: 3_000,
    /** How long before its expiry a token is renewed. */
    renewal: 60_000,
    /** Messages older than the hub's memory, minus this margin, are no longer sent. */
    margin: 86_400_000,
    /** The shortest and the longest pause before a temporarily refused request is repeated. */
    pause: 250, longestPause: 600_000,
    /** The minimum time before a room is joined again if the hub has no place for it. */
    crowded: 10_000,
    /** The pause before a failed store is used again. */
    storePause: 1_000,
};

export const most = {
    /** Messages that may wait in the outbox of a room. */
    waiting: 1_000,
    /** Rooms that are joined within hello. */
    joins: 500,
    /** Entries that one answer to a join may contain; with more missed entries, a snapshot is better. */
    missed: 2_000,
    /** Consecutive failed resumes before rooms are joined one by one. */
    resumes: 5,
    /** How often everything is sent again on one connection without an ack. */
    resends: 3,
    /** How often a room may break the connection when it is joined alone. */
    aloneFailures: 3,
    /** How many devices a client gives up because others have used them. */
    foreignDevices: 3,
    /** Frames that may wait to be processed; with more, the link is given up and the rest is fetched later. */
    frames: 20_000,
    /** Entries that are written in one transaction. */
    batch: 500,
};

/** Returns how long the hub wants the client to wait before it tries again. */
export function pauseOf({ after }) {
    return Math.min(times.longestPause, Math.max(times.pause, Number(after) || 0));
}

export const realTime = {
    now: () => Date.now(),
    after: (milliseconds, work) => {
        const timer = setTimeout(work, milliseconds);
        return () => clearTimeout(timer);
    },
};
