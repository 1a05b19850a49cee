// The connection: reopens it when it is lost, detects dead links, and measures the round trip.

import { backoff } from "./backoff.mjs";
import { Order } from "./book.mjs";
import { decode, encode } from "./messagepack.mjs";

const protocols = { msgpack: "holdfast.quotes.v1.msgpack", json: "holdfast.quotes.v1.json" };
const everything = 1;
const probe = 2;
/** No symbol has this name: the answer is an empty snapshot, and the time until it arrives is the round trip. */
const nothing = "-";
const probeInterval = 2_000;
const patience = 10_000;
/** Used because a page may not close with 1007. */
const notTrusted = 4007;

export class Feed {
    /** The state: connecting, live, resyncing or lost. */
    state = "connecting";
    encoding = null;
    /** The round trip in milliseconds, once measured. */
    roundTrip = null;
    bytes = 0;
    connections = 0;

    #url;
    #wanted;
    #book;
    #socket = null;
    #timer = null;
    #failures = 0;
    #lastHeard = 0;
    #lastSnapshot = 0;
    #probeSent = null;

    /** `encoding`: msgpack or json; anything else means the better one that the server has. */
    constructor(url, book, encoding) {
        this.#url = url;
        this.#book = book;
        this.#wanted = encoding in protocols ? [protocols[encoding]] : Object.values(protocols);
        setInterval(() => this.#watch(), probeInterval);
        this.#open();
    }

    /** Tries to connect at once, when the network or the user is back. */
    hurry() {
        if (this.state === "lost") this.#open();
    }

    #open() {
        clearTimeout(this.#timer);
        this.state = "connecting";
        this.#lastHeard = this.#lastSnapshot = performance.now();
        this.#probeSent = null;
        const socket = new WebSocket(this.#url, this.#wanted);
        socket.binaryType = "arraybuffer";
        socket.onopen = () => this.#opened(socket);
        socket.onmessage = (event) => this.#heard(socket, event.data);
        socket.onclose = () => this.#lost(socket);
        this.#socket = socket;
    }

    #opened(socket) {
        if (socket !== this.#socket) return;
        this.connections++;
        this.encoding = socket.protocol === protocols.json ? "json" : "msgpack";
        this.#book.connected();
        this.#send({ type: "subscribe", id: everything, symbols: ["*"] });
        this.#sendProbe();
    }

    #lost(socket) {
        if (socket !== this.#socket) return;
        this.#socket = null;
        this.state = "lost";
        this.roundTrip = null;
        this.#timer = setTimeout(() => this.#open(), backoff(this.#failures++));
    }

    /** Closes without waiting for the closing handshake, because a silent or invalid peer may not answer. */
    #giveUp(socket) {
        socket.close(notTrusted);
        this.#lost(socket);
    }

    #send(message) {
        this.#socket.send(this.encoding === "json" ? JSON.stringify(message) : encode(message));
    }

    #heard(socket, data) {
        if (socket !== this.#socket) return;
        this.#lastHeard = performance.now();
        this.bytes += data.byteLength ?? data.length;
        const message = this.#decoded(data);
        const order = message === undefined ? this.#book.garbage() : this.#book.apply(message);
        if (order === Order.close) this.#giveUp(socket);
        else if (order === Order.resync) {
            this.state = "resyncing";
            this.#lastSnapshot = this.#lastHeard;
            this.#send({ type: "resync", round: this.#book.round });
        } else if (message.type === "snapshot") this.#noteSnapshot(message);
    }

    /** Returns the decoded message; undefined if it is not valid. */
    #decoded(data) {
        try {
            if (typeof data === "string") return this.encoding === "json" ? JSON.parse(data) : undefined;
            return this.encoding === "json" ? undefined : decode(new Uint8Array(data));
        } catch {
            return undefined;
        }
    }

    #noteSnapshot(message) {
        this.#lastSnapshot = this.#lastHeard;
        if (message.id === probe && message.last === true && this.#probeSent !== null) {
            this.roundTrip = performance.now() - this.#probeSent;
            this.#probeSent = null;
            this.#send({ type: "unsubscribe", id: probe });
        }
        if (this.#book.isComplete(everything)) {
            this.state = "live";
            this.#failures = 0;
        }
    }

    #sendProbe() {
        this.#probeSent = performance.now();
        this.#send({ type: "subscribe", id: probe, symbols: [nothing] });
    }

    /**
     * Gives up a connection that is silent for too long, or that does not send a snapshot in time, because browsers do not report dead
     * links.
     */
    #watch() {
        const socket = this.#socket;
        if (socket === null) return;
        const now = performance.now();
        if (now - this.#lastHeard > patience || (this.state !== "live" && now - this.#lastSnapshot > patience)) this.#giveUp(socket);
        else if (socket.readyState === WebSocket.OPEN && this.#probeSent === null) this.#sendProbe();
    }
}
