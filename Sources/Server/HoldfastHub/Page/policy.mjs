// How long this client waits, and how much it keeps.

/** Milliseconds. */
export const times = {
    /** Until the hub answers hello, a join, a question for older entries. */
    welcome: 15_000, state: 15_000, history: 15_000,
    /** Without an ack for so long, all is sent again. */
    resend: 10_000,
    /** Between pings; and how long nothing may be heard after one. */
    ping: 5_000, silence: 10_000,
    /** A connection that lasts less is one that failed. */
    steady: 10_000,
    /** How often the clock is looked at. */
    tick: 1_000,
    /** Typing is said once in so long. */
    typing: 3_000,
    /** So long before a token ends, another one is asked for. */
    renewal: 60_000,
    /** What is older than the hub remembers, less this, is not sent any more. */
    margin: 86_400_000,
    /** The least and the longest pause before what was refused for now is tried again. */
    pause: 250, longestPause: 600_000,
    /** Before a room is joined again that the hub has no place for, at the least. */
    crowded: 10_000,
    /** Before a store that failed is trusted again. */
    storePause: 1_000,
};

export const most = {
    /** Messages that wait in the outbox of a room. */
    waiting: 1_000,
    /** Rooms that are joined within hello. */
    joins: 500,
    /** Entries that one answer to a join shall hold, else a snapshot is better. */
    missed: 2_000,
    /** Resumes that fail in a row before each room is joined alone. */
    resumes: 5,
    /** Times that all is sent again on one connection without an ack. */
    resends: 3,
    /** Times that a room may cost the connection when joined alone. */
    aloneFailures: 3,
    /** Devices that are given up in the life of a client because others have used them. */
    foreignDevices: 3,
    /** Frames that wait to be taken in; beyond, the link is given up and the rest fetched later. */
    frames: 20_000,
    /** Entries that are written in one transaction. */
    batch: 500,
};

/** How long the hub wants us to wait before we try again. */
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
