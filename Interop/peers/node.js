#!/usr/bin/env node
// Node `ws` as a peer.
//   node.js echo-server [--tls-cert FILE --tls-key FILE]
//   node.js suite URL [--ca FILE] [--no-compression] [--lines]
// node.js autobahn-client URL --agent NAME     (only to test Conformance/run.sh)
'use strict';
const fs = require('fs');
const WebSocket = require('ws');

const MEBIBYTE = 1 << 20;
const [command, ...rest] = process.argv.slice(2);
const flag = (name) => rest.includes(name);
const option = (name) => (flag(name) ? rest[rest.indexOf(name) + 1] : undefined);

function echoServer() {
    const handler = (request, response) => response.writeHead(404).end();
    const server = flag('--tls-cert')
        ? require('https').createServer({ cert: fs.readFileSync(option('--tls-cert')), key: fs.readFileSync(option('--tls-key')) }, handler)
        : require('http').createServer(handler);
    const sockets = new WebSocket.Server({ server, perMessageDeflate: true, maxPayload: 32 * MEBIBYTE });
    sockets.on('connection', (socket, request) => {
        socket.on('error', () => {}); // `ws` has already sent its close frame for the violation
        const close = request.url.match(/^\/close\/(\d+)\/(.*)$/);
        if (close) return socket.close(Number(close[1]), close[2]);
        socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
}

// One connection whose messages are awaited one by one.
class Client {
    constructor(url) {
        const ca = option('--ca') && fs.readFileSync(option('--ca'));
        this.socket = new WebSocket(url, { ca, perMessageDeflate: !flag('--no-compression'), maxPayload: 32 * MEBIBYTE });
        this.inbox = [];
        this.waiting = [];
        this.socket.on('message', (data, isBinary) => {
            const message = isBinary ? data : data.toString();
            const next = this.waiting.shift();
            if (next) next(message);
            else this.inbox.push(message);
        });
        this.closed = new Promise((done) => this.socket.on('close', (code, reason) => done({ code, reason: reason.toString() })));
        this.opened = new Promise((done, fail) => this.socket.on('open', done).on('error', fail));
    }
    receive() {
        return this.inbox.length ? Promise.resolve(this.inbox.shift()) : new Promise((done) => this.waiting.push(done));
    }
    async expectEcho(message) {
        this.socket.send(message);
        expectSame(await this.receive(), message);
    }
}

function expectSame(got, wanted) {
    const same = Buffer.isBuffer(wanted) ? Buffer.isBuffer(got) && got.equals(wanted) : got === wanted;
    if (same) return;
    const shown = (value) => (value.length > 60 ? `${typeof value} of length ${value.length}` : JSON.stringify(value));
    throw new Error(`got ${shown(got)}, not ${shown(wanted)}`);
}

function bytes(count) {
    return Buffer.from({ length: count }, (_, index) => (index * 31 + (index >> 8)) & 0xff);
}

function checks(url, client) {
    const binary = {
        'binary': () => client.expectEcho(bytes(5)),
        'empty-text': () => client.expectEcho(''),
        'empty-binary': () => client.expectEcho(Buffer.alloc(0)),
        '125-bytes': () => client.expectEcho(bytes(125)),
        '126-bytes': () => client.expectEcho(bytes(126)),
        '65536-bytes': () => client.expectEcho(bytes(65_536)),
        'one-mebibyte': () => client.expectEcho(bytes(MEBIBYTE)),
        'fragments': async () => {
            const whole = bytes(30_000);
            client.socket.send(whole.subarray(0, 10_000), { fin: false });
            client.socket.send(whole.subarray(10_000, 20_000), { fin: false });
            client.socket.send(whole.subarray(20_000), { fin: true });
            expectSame(await client.receive(), whole);
        },
        'closed-by-peer-4002': async () => {
            const other = new Client(new URL('/close/4002/why', url).href);
            expectSame(JSON.stringify(await other.closed), '{"code":4002,"reason":"why"}');
        },
    };
    return {
        'compression': async () => expectSame(client.socket.extensions !== '', !flag('--no-compression')),
        'text': () => client.expectEcho('hello'),
        'unicode': () => client.expectEcho('Grüße, κόσμε, 世界, 🌍'),
        'long-text': () => client.expectEcho('0123456789abcdef'.repeat(4096)),
        ...(flag('--lines') ? {} : binary),
        'thousand-in-order': async () => {
            for (let index = 0; index < 1000; index++) client.socket.send(`message ${index}`);
            for (let index = 0; index < 1000; index++) expectSame(await client.receive(), `message ${index}`);
        },
        'ping': () => new Promise((done) => client.socket.once('pong', done).ping('are you there')),
        'close-4001': async () => {
            client.socket.close(4001, 'done');
            expectSame((await client.closed).code, 4001);
        },
    };
}

function withDeadline(seconds, promise) {
    let timer;
    const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`no answer in ${seconds} s`)), seconds * 1000); });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function suite(url) {
    let failures = 0;
    const report = async (name, body) => {
        try {
            await withDeadline(10, body());
            console.log(`ok ${name}`);
        } catch (error) {
            failures += 1;
            console.log(`not ok ${name}: ${error.message}`);
        }
    };
    const client = new Client(url);
    await report('open', () => client.opened);
    if (failures === 0) for (const [name, body] of Object.entries(checks(url, client))) await report(name, body);
    process.exit(failures ? 1 : 0);
}

function runCase(url, onMessage) {
    return new Promise((done) => {
        const socket = new WebSocket(url, { perMessageDeflate: true, maxPayload: 32 * MEBIBYTE });
        socket.on('error', () => {}).on('close', done);
        socket.on('message', (data, isBinary) => onMessage(socket, data, isBinary));
    });
}

async function autobahnClient(url) {
    let count = 0;
    await runCase(`${url}/getCaseCount`, (_, data) => { count = Number(data.toString()); });
    for (let index = 1; index <= count; index++) {
        const address = `${url}/runCase?case=${index}&agent=${option('--agent')}`;
        await runCase(address, (socket, data, isBinary) => socket.send(data, { binary: isBinary }));
    }
    await runCase(`${url}/updateReports?agent=${option('--agent')}`, () => {});
}

const commands = { 'echo-server': echoServer, 'suite': () => suite(rest[0]), 'autobahn-client': () => autobahnClient(rest[0]) };
if (!commands[command]) {
    console.error('usage: node.js echo-server | suite URL | autobahn-client URL --agent NAME');
    process.exit(2);
}
commands[command]();
