// Yjs with the provider of y-websocket, as a web editor uses them. It types, edits offline in the middle, comes back, and prints what it
// has in the end as JSON. `HoldfastPeer documents-edit` does the same.
//   node client.cjs URL ROOM NAME COUNT
'use strict'
const Y = require('yjs')
const { WebsocketProvider } = require('y-websocket')
const [url, room, name, count] = process.argv.slice(2)
const doc = new Y.Doc(); const text = doc.getText('text'); const map = doc.getMap('map')
const provider = new WebsocketProvider(url, room, doc, { WebSocketPolyfill: require('ws'), disableBc: true })
provider.awareness.setLocalStateField('name', name)
const seen = new Set()
const look = () => { for (const [id, state] of provider.awareness.getStates()) if (id !== doc.clientID && state.name) seen.add(state.name) }
provider.awareness.on('change', look)
const sleep = (ms) => new Promise(resolve => setTimeout(resolve, ms))
const synced = () => new Promise(resolve => provider.synced ? resolve() : provider.once('sync', resolve))
const type = (word) => doc.transact(() => {
  text.insert(Math.floor(Math.random() * (text.length + 1)), word)
  if (Math.random() < 0.2 && text.length > 4) text.delete(Math.floor(Math.random() * (text.length - 1)), 1)
})
// The others are done when all their names are in the map.
const finished = async () => { while (map.size < 4) await sleep(50) }
;(async () => {
  await synced()
  for (let i = 0; i < count / 2; i++) { type(`{${name}${i}é}`); await sleep(20) }
  provider.disconnect()
  for (let i = 0; i < 5; i++) type(`(${name} offline ${i})`)
  provider.connect()
  await sleep(50); await synced()
  for (let i = 0; i < count / 2; i++) { type(`{${name}${i}é}`); await sleep(20) }
  map.set(name, { words: Number(count), π: 3.5, list: [1, null, true, 'ü'] })
  await finished(); await sleep(1000); look()
  console.log(JSON.stringify({ name, others: [...seen].sort(), map: map.toJSON(), text: text.toString() }))
  process.exit(0)
})()
