// The y-websocket server of Debian's node-y-websocket, documents in memory.
//   node server.cjs PORT       then connect to ws://127.0.0.1:PORT/DOCUMENT
'use strict'
const http = require('http')
const { WebSocketServer } = require('ws')
const { setupWSConnection } = require('/usr/share/nodejs/y-websocket/bin/utils.js')
const server = http.createServer((_, response) => response.end())
new WebSocketServer({ server }).on('connection', (socket, request) => setupWSConnection(socket, request))
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log(`listening ${server.address().port}`))
