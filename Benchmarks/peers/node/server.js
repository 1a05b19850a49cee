// Node `ws` as an echo server: server.js PORT. DEFLATE=1 accepts permessage-deflate.
'use strict';
const { WebSocketServer } = require('ws');

const server = new WebSocketServer({
    host: '127.0.0.1',
    port: Number(process.argv[2]),
    backlog: 4096,
    maxPayload: 64 << 20,
    perMessageDeflate: process.env.DEFLATE ? { threshold: 0, zlibDeflateOptions: { level: 6 } } : false,
});
server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary }));
});
