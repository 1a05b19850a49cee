// Node `ws` as a client: client.js MODE PORT SIZE COUNT.
'use strict';
const WebSocket = require('ws');

const [mode, port, size, count] = process.argv.slice(2).map((word, index) => (index === 0 ? word : Number(word)));
const paths = { ping: '/echo', receive: '/blast', send: '/sink' };
const warmUp = Math.min(Math.floor(count / 10) + 1, 2000);
const payload = Buffer.alloc(size, 'x');
const samples = []; // of each round trip, in microseconds
let wall, cpu;
let trips = 0;
let counted = 0;
let sent;

function fail(what) {
    console.error(what);
    process.exit(1);
}

function start() {
    wall = process.hrtime.bigint();
    cpu = process.cpuUsage();
}

function finish() {
    const seconds = Number(process.hrtime.bigint() - wall) / 1e9;
    const used = process.cpuUsage(cpu);
    const line = { messages: count, seconds, cpu: (used.user + used.system) / 1e6 };
    if (samples.length) {
        samples.sort((a, b) => a - b);
        line.p50 = samples[samples.length >> 1];
        line.p99 = samples[Math.floor(samples.length * 0.99)];
    }
    console.log(JSON.stringify(line));
    process.exit(0);
}

function ping() {
    if (trips === warmUp) start();
    sent = process.hrtime.bigint();
    socket.send(payload);
}

function pong() {
    if (trips >= warmUp) samples.push(Number(process.hrtime.bigint() - sent) / 1e3);
    trips += 1;
    if (trips === warmUp + count) finish();
    else ping();
}

// Sends until 1 MiB is waiting, lets the event loop write, and continues.
function pump() {
    while (counted < count && socket.bufferedAmount < 1 << 20) {
        counted += 1;
        socket.send(payload);
    }
    if (counted === count) socket.send('end');
    else setImmediate(pump);
}

function received(message, isBinary) {
    if (isBinary) {
        if (message.length !== size) fail(`a message of ${message.length} bytes instead of ${size}`);
        if (mode === 'ping') return pong();
        counted += 1;
    } else {
        const total = mode === 'send' ? Number(message.toString()) : counted;
        if (total !== count) fail(`${total} messages instead of ${count}`);
        finish();
    }
}

const socket = new WebSocket(`ws://127.0.0.1:${port}${paths[mode]}`, { perMessageDeflate: false, maxPayload: 64 << 20 });
socket.on('open', () => {
    if (mode === 'ping') return ping();
    start();
    if (mode === 'send') pump();
    else socket.send(`${count} ${size}`);
});
socket.on('message', received);
socket.on('close', () => fail('closed too early'));
socket.on('error', (error) => fail(error.message));
