#!/usr/bin/env node
// Node `ws` as the server for the runs with faults; see ../README.md.
//   server.js survive-server --port N
'use strict';
const fs = require('fs');
const http = require('http');
const WebSocket = require('ws');

const SLOWNESS = 700; // milliseconds for each message on the path /slow
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);
// Written at once, because the process may be killed.
const say = (line) => fs.writeSync(1, `${line}\n`);
const newest = new Map(); // client → its newest connection

function serve(socket, path, client) {
    const older = newest.get(client);
    newest.set(client, socket);
    if (older) older.once('pong', () => say(`double ${client}`)).ping();
    socket.on('error', () => {}); // after a violation or a broken link `close` follows
    socket.on('close', () => {
        if (newest.get(client) === socket) newest.delete(client);
    });
    let turn = Promise.resolve();
    const pause = () => new Promise((done) => setTimeout(done, SLOWNESS));
    socket.on('message', (data, isBinary) => {
        if (path !== '/slow') return socket.send(data, { binary: isBinary });
        turn = turn.then(pause).then(() => socket.send(data, { binary: isBinary }, () => {}));
    });
}

const server = http.createServer((_, response) => response.writeHead(404).end());
const sockets = new WebSocket.Server({ noServer: true, perMessageDeflate: true });
server.on('upgrade', (request, stream, head) => {
    const [client, expiry] = (request.headers.authorization || '').replace('Bearer ', '').split('.');
    const left = Number(expiry) - Date.now();
    if (!(left > 0)) {
        say(`refused ${client}`);
        return stream.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    }
    say(`opened ${client} ${left}`);
    sockets.handleUpgrade(request, stream, head, (socket) => serve(socket, request.url, client));
});
server.listen(port, '127.0.0.1', () => say(`listening ${port}`));

process.on('SIGTERM', () => {
    server.close(() => process.exit(0));
    for (const socket of sockets.clients) socket.close(1001);
    setTimeout(() => process.exit(0), 2000).unref();
});
process.stdin.on('end', () => process.exit(0)).resume(); // the parent process is gone
