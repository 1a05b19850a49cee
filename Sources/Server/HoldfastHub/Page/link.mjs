// The connection to the hub: attempts and pauses, hello and its answer, the token, pings, and the detection of dead links.

import { backoff } from "./backoff.mjs";
import { pauseOf, times } from "./policy.mjs";
import { closings, codes, subprotocol } from "./protocol.mjs";

const noPing = { number: 0, sent: 0, next: 0, heard: 0 };

export class Link {
    /** The state: offline, connecting, welcomed, lost, replaced or refused. */
    state = "offline";
    /** The round trip of a ping in milliseconds, once measured. */
    roundTrip = null;
    /** The hub's answer to hello. */
    welcome = null;
    /** The last refusal of the whole connection. */
    refusal = null;
    /** When the next attempt starts, by the local clock; 0: none is planned. */
    nextAttempt = 0;
    /** When the token expires, by the local clock. */
    tokenEnds = Infinity;
    /** How far the hub's clock is ahead of the local one. */
    offset = 0;
    /** The number of the connection, to recognise events of earlier connections. */
    connection = 0;
    /** Whether the hub has announced that it stops. */
    isEnding = false;

    #client;
    #options;
    #socket = null;
    #token = null;
    #isWanted = false;
    /** The number of consecutive failures: failed attempts, and connections that were too short. */
    #failures = 0;
    /** When the current connection was welcomed. */
    #upSince = Infinity;
    #notBefore = 0;
    #deadline = 0;
    #cancelAttempt = () => {};
    #ping = noPing;
    #renewAt = Infinity;

    constructor(client, options) {
        [this.#client, this.#options] = [client, options];
    }

    get isUp() {
        return this.state === "welcomed";
    }

    get hubTime() {
        return this.#client.time.now() + this.offset;
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
        if (this.#isWanted && this.state === "lost" && this.#client.time.now() >= this.#notBefore) this.#open();
        else if (this.isUp) this.#sendPing();
    }

    /** Drops the link, as a bad network does. */
    cut() {
        if (this.#socket !== null) this.lost();
    }

    /** Gives up the connection; another attempt follows. */
    lost() {
        if (!this.#isWanted) return;
        const now = this.#client.time.now();
        // The pauses also grow for a hub that welcomes clients and then drops them.
        if (now - this.#upSince >= times.steady) this.#failures = 0;
        this.#lose("lost");
        const wait = Math.max(backoff(this.#failures++, this.#client.random), this.#notBefore - now);
        this.nextAttempt = now + wait;
        this.#cancelAttempt = this.#client.time.after(wait, () => this.#open());
        this.#client.tell("connection", { state: this.state });
    }

    /** Makes no attempt for this time. */
    rest(milliseconds) {
        this.#notBefore = Math.max(this.#notBefore, this.#client.time.now() + milliseconds);
    }

    /** Sends a frame; nothing is sent before hello and its answer. */
    say(frame) {
        if (this.isUp) this.#send(frame);
    }

    /** Sends the first frame, with the rooms to resume. */
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
        this.#deadline = this.#client.time.now() + times.welcome;
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
        socket.onopen = () => this.#client.opened(connection);
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
        this.#ping.heard = this.#client.time.now();
        switch (frame.t) {
            case "welcome": return this.#welcomed(frame);
            case "renewed": return this.#planRenewal(frame.expires);
            case "pong": return this.#ponged(frame);
            case "goaway": return this.#goesAway(frame);
            default: return this.#client.heard(frame);
        }
    }

    #welcomed(frame) {
        if (this.state !== "connecting" || frame.v !== 1) return;
        this.welcome = frame;
        this.refusal = null;
        this.isEnding = false;
        this.#deadline = Infinity;
        this.#upSince = this.#client.time.now();
        const isTimed = Number.isSafeInteger(frame.now);
        if (isTimed) this.offset = frame.now - this.#client.time.now();
        this.#planRenewal(frame.expires);
        this.#ping = { ...noPing };
        this.#become("welcomed");
        this.#sendPing();
        this.#client.welcomed(isTimed);
    }

    #goesAway({ after = 0, drain = 0 }) {
        this.isEnding = true;
        const now = this.#client.time.now();
        this.#notBefore = now + Math.min(times.longestPause, Math.max(0, after));
        this.#deadline = now + Math.min(60_000, drain) + 2_000;
    }

    /** The hub has refused the whole connection. */
    refused(refusal) {
        this.refusal = refusal;
        if (refusal.retry === "after") this.rest(pauseOf(refusal));
        if (refusal.retry === "reconnect") this.lost();
    }

    #closed(connection, code, reason) {
        if (connection !== this.connection) return;
        if (code === closings.replaced) return this.#stop("replaced");
        if (closings.isFinal(code)) {
            this.refusal ??= { code, text: reason || "The hub refuses the connection." };
            return this.#stop("refused");
        }
        if (code === closings.expired) this.refusal = { code: codes.expired, text: reason || "The token has expired." };
        this.lost();
    }

    /** Makes no further attempt until the user asks for one, because it would end in the same way. */
    #stop(state) {
        this.#isWanted = false;
        this.#lose(state);
    }

    /** Closes without waiting for the closing handshake, because a dead link would not answer. */
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
        this.#client.disconnected();
        this.#become(state);
    }

    #become(state) {
        if (this.state === state) return;
        this.state = state;
        this.#client.tell("connection", { state });
    }

    // The token.

    #planRenewal(expires) {
        this.tokenEnds = expires > 0 ? expires - this.offset : Infinity;
        this.#renewAt = this.tokenEnds - times.renewal;
        this.#client.tell("connection", { state: this.state });
    }

    /** Requests a token again, and sends it to the hub if it has changed. */
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

    // Periodic work.

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
        const now = this.#client.time.now();
        this.#ping = { ...this.#ping, number: this.#ping.number + 1, sent: now, next: now + times.ping };
        this.say({ t: "ping", n: this.#ping.number });
    }

    #ponged({ n, now }) {
        if (n !== this.#ping.number || this.#ping.sent === 0) return;
        // The clock of this machine may have been changed in the meantime.
        if (Number.isSafeInteger(now)) this.offset = now - this.#client.time.now();
        this.roundTrip = this.#client.time.now() - this.#ping.sent;
        this.#ping.sent = 0;
        this.#client.tell("connection", { state: this.state });
    }
}
