// Node `ws` as a measured client: node.js receive|send URL SIZE SECONDS (see ../README.md for what is measured).
'use strict';
const WebSocket = require('ws');

const [mode, url, size, seconds] = process.argv.slice(2).map((word, index) => (index < 2 ? word : Number(word)));
const payload = Buffer.alloc(size, 'x');
const opened = process.hrtime.bigint();
let count = 0;
let start;

const elapsed = () => Number(process.hrtime.bigint() - opened) / 1e9;
const snapshot = () => ({ at: elapsed(), cpu: process.cpuUsage(), count });

function counted() {
    count += 1;
    if (!start && count % 64 === 0 && elapsed() - socket.openedAt > seconds * 0.3) start = snapshot();
}

function finish(said) {
    const end = snapshot();
    if (said !== `end ${count}`) throw new Error(`counted ${count}, the sink says '${said}'`);
    const cpu = (end.cpu.user + end.cpu.system - start.cpu.user - start.cpu.system) / 1e6;
    console.log(JSON.stringify({ messages: end.count - start.count, seconds: end.at - start.at, cpu }));
    process.exit(0);
}

function pump() {
    while (socket.bufferedAmount < 1 << 20) {
        socket.send(payload);
        counted();
        if (count % 64 === 0 && elapsed() - socket.openedAt > seconds) return socket.send('end');
    }
    setImmediate(pump);
}

const socket = new WebSocket(`${url}/${mode}`, { perMessageDeflate: false });
socket.on('open', () => {
    socket.openedAt = elapsed();
    if (mode === 'receive') socket.send(`${size} ${seconds}`);
    else pump();
});
socket.on('message', (data, isBinary) => (isBinary ? counted() : finish(data.toString())));
