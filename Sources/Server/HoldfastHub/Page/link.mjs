// The connection to the hub: attempts and the pauses between them, hello and its answer, the token, pings, and when a link is given up.

import { backoff } from "./backoff.mjs";
import { pauseOf, times } from "./policy.mjs";
import { closings, codes, subprotocol } from "./protocol.mjs";

const noPing = { number: 0, sent: 0, next: 0, heard: 0 };

export class Link {
    /** offline, connecting, welcomed, lost, replaced or refused. */
    state = "offline";
    /** Milliseconds that a ping took, once measured. */
    roundTrip = null;
    /** The hub's answer to hello. */
    welcome = null;
    /** What the hub refused last as a whole. */
    refusal = null;
    /** When the next attempt is made, by our clock; 0: none is planned. */
    nextAttempt = 0;
    /** When the token ends, by our clock. */
    tokenEnds = Infinity;
    /** How far the hub's clock is ahead of ours. */
    offset = 0;
    /** Counts connections: what belongs to an earlier one is told by its number. */
    connection = 0;
    /** Whether the hub has said that it stops. */
    isEnding = false;

    #desk;
    #options;
    #socket = null;
    #token = null;
    #isWanted = false;
    /** Attempts that failed in a row, and connections that did not last. */
    #failures = 0;
    /** When the present connection was welcomed. */
    #upSince = Infinity;
    #notBefore = 0;
    #deadline = 0;
    #cancelAttempt = () => {};
    #ping = noPing;
    #renewAt = Infinity;

    constructor(desk, options) {
        [this.#desk, this.#options] = [desk, options];
    }

    get isUp() {
        return this.state === "welcomed";
    }

    get hubTime() {
        return this.#desk.time.now() + this.offset;
    }

    online() {
        this.#isWanted = true;
        this.#failures = 0;
        this.refusal = null;
        if (this.#socket === null) this.#open();
    }

    offline() {
        this.#isWanted = false;
        this.#cancelAttempt();
        this.#lose("offline");
    }

    hurry() {
        if (this.#isWanted && this.state === "lost" && this.#desk.time.now() >= this.#notBefore) this.#open();
        else if (this.isUp) this.#sendPing();
    }

    /** Drops the link, as a network does. */
    cut() {
        if (this.#socket !== null) this.lost();
    }

    /** Gives the connection up; another attempt follows. */
    lost() {
        if (!this.#isWanted) return;
        const now = this.#desk.time.now();
        // A hub that welcomes and drops is asked less and less often, too.
        if (now - this.#upSince >= times.steady) this.#failures = 0;
        this.#lose("lost");
        const wait = Math.max(backoff(this.#failures++, this.#desk.random), this.#notBefore - now);
        this.nextAttempt = now + wait;
        this.#cancelAttempt = this.#desk.time.after(wait, () => this.#open());
        this.#desk.tell("connection", { state: this.state });
    }

    /** No attempt is made for so long. */
    rest(milliseconds) {
        this.#notBefore = Math.max(this.#notBefore, this.#desk.time.now() + milliseconds);
    }

    /** Nothing goes before hello and its answer. */
    say(frame) {
        if (this.isUp) this.#send(frame);
    }

    /** The first frame, with the rooms to resume. */
    greet(device, joins) {
        this.#send({ t: "hello", v: [1], device, token: this.#token, agent: this.#options.agent, joins });
    }

    #send(frame) {
        if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(frame));
    }

    async #open() {
        this.#cancelAttempt();
        this.nextAttempt = 0;
        const connection = ++this.connection;
        this.#become("connecting");
        this.#deadline = this.#desk.time.now() + times.welcome;
        const isExpired = this.refusal?.code === codes.expired;
        let token;
        try {
            token = await this.#options.token({ isExpired });
        } catch {
            if (connection === this.connection) this.lost();
            return;
        }
        if (connection !== this.connection) return;
        if (isExpired && token === this.#token) return this.#stop("refused");
        this.#token = token;
        const socket = this.#options.socket(this.#options.url, [subprotocol]);
        this.#socket = socket;
        socket.onopen = () => this.#desk.opened(connection);
        socket.onmessage = ({ data }) => this.#heard(connection, data);
        socket.onclose = ({ code, reason }) => this.#closed(connection, code, reason);
    }

    #heard(connection, data) {
        if (connection !== this.connection) return;
        let frame;
        try {
            frame = JSON.parse(data);
        } catch {
            frame = null;
        }
        if (frame === null || typeof frame !== "object" || typeof frame.t !== "string") return this.lost();
        this.#ping.heard = this.#desk.time.now();
        switch (frame.t) {
            case "welcome": return this.#welcomed(frame);
            case "renewed": return this.#planRenewal(frame.expires);
            case "pong": return this.#ponged(frame);
            case "goaway": return this.#goesAway(frame);
            default: return this.#desk.heard(frame);
        }
    }

    #welcomed(frame) {
        if (this.state !== "connecting" || frame.v !== 1) return;
        this.welcome = frame;
        this.refusal = null;
        this.isEnding = false;
        this.#deadline = Infinity;
        this.#upSince = this.#desk.time.now();
        const isTimed = Number.isSafeInteger(frame.now);
        if (isTimed) this.offset = frame.now - this.#desk.time.now();
        this.#planRenewal(frame.expires);
        this.#ping = { ...noPing };
        this.#become("welcomed");
        this.#sendPing();
        this.#desk.welcomed(isTimed);
    }

    #goesAway({ after = 0, drain = 0 }) {
        this.isEnding = true;
        const now = this.#desk.time.now();
        this.#notBefore = now + Math.min(times.longestPause, Math.max(0, after));
        this.#deadline = now + Math.min(60_000, drain) + 2_000;
    }

    /** What the hub refuses of the connection as a whole. */
    refused(refusal) {
        this.refusal = refusal;
        if (refusal.retry === "after") this.rest(pauseOf(refusal));
        if (refusal.retry === "reconnect") this.lost();
    }

    #closed(connection, code, reason) {
        if (connection !== this.connection) return;
        if (code === closings.replaced) return this.#stop("replaced");
        if (closings.isFinal(code)) {
            this.refusal ??= { code, text: reason || "The hub does not let us in." };
            return this.#stop("refused");
        }
        if (code === closings.expired) this.refusal = { code: codes.expired, text: reason || "The token has ended." };
        this.lost();
    }

    /** Another attempt would end in the same way, until somebody asks for it. */
    #stop(state) {
        this.#isWanted = false;
        this.#lose(state);
    }

    /** Does not wait for the closing handshake: a dead link would not take part in it. */
    #lose(state) {
        const socket = this.#socket;
        this.#socket = null;
        this.connection++;
        this.roundTrip = null;
        this.#upSince = Infinity;
        [this.#renewAt, this.tokenEnds] = [Infinity, Infinity];
        if (socket !== null) {
            socket.onopen = socket.onmessage = socket.onclose = null;
            socket.close();
        }
        this.#desk.disconnected();
        this.#become(state);
    }

    #become(state) {
        if (this.state === state) return;
        this.state = state;
        this.#desk.tell("connection", { state });
    }

    // The token.

    #planRenewal(expires) {
        this.tokenEnds = expires > 0 ? expires - this.offset : Infinity;
        this.#renewAt = this.tokenEnds - times.renewal;
        this.#desk.tell("connection", { state: this.state });
    }

    /** Asks for a token again, and tells the hub if it is another one. */
    async renewToken() {
        this.#renewAt = Infinity;
        const { connection } = this;
        try {
            const token = await this.#options.token({ isExpired: true });
            if (connection === this.connection && token !== this.#token) this.say({ t: "auth", token: (this.#token = token) });
        } catch {
            // The connection ends with its token, and is opened again.
        }
    }

    // What the clock is needed for.

    tick(now) {
        if (this.#socket === null && this.state !== "connecting") return;
        const isSilent = this.#ping.sent !== 0 && now - Math.max(this.#ping.sent, this.#ping.heard) > times.silence;
        if (now >= this.#deadline || (this.isUp && isSilent)) return this.lost();
        if (!this.isUp) return;
        if (now >= this.#ping.next) this.#sendPing();
        if (now >= this.#renewAt) this.renewToken();
    }

    #sendPing() {
        if (this.#ping.sent !== 0) return;
        const now = this.#desk.time.now();
        this.#ping = { ...this.#ping, number: this.#ping.number + 1, sent: now, next: now + times.ping };
        this.say({ t: "ping", n: this.#ping.number });
    }

    #ponged({ n, now }) {
        if (n !== this.#ping.number || this.#ping.sent === 0) return;
        // The calendar of this machine may have been set meanwhile.
        if (Number.isSafeInteger(now)) this.offset = now - this.#desk.time.now();
        this.roundTrip = this.#desk.time.now() - this.#ping.sent;
        this.#ping.sent = 0;
        this.#desk.tell("connection", { state: this.state });
    }
}
