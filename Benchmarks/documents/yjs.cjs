// What `HoldfastPeer documents-bench` measures, with Yjs (Debian's node-yjs). Prints "value name" lines; milliseconds are processor time of the
// process, which takes in the collector's threads.
//   node --expose-gc yjs.cjs trace FILE | updates FILE | memory STATE | random COUNT
'use strict'
const fs = require('fs'); const zlib = require('zlib'); const Y = require('yjs')
const [kind, what] = process.argv.slice(2)
const lines = (file) => zlib.gunzipSync(fs.readFileSync(file)).toString().split('\n').filter(Boolean).map(l => JSON.parse(l))
const print = (name, value) => console.log(name.endsWith('ms') ? value.toFixed(2) : value, name)
const time = (name, work) => {
  const start = process.cpuUsage(); const result = work(); const used = process.cpuUsage(start)
  print(name, (used.user + used.system) / 1e3)
  return result
}
const heap = () => { gc(); gc(); const m = process.memoryUsage(); return m.heapUsed + m.external }
const load = (state, apply) => { const d = new Y.Doc(); apply(d, state); void d.getText('text').toString().length; return d }
const applied = (updates) => { const d = new Y.Doc(); for (const u of updates) Y.applyUpdate(d, u); return d }

if (kind === 'trace') {
  const trace = lines(what)[0]; const patches = trace.txns.flatMap(t => t.patches)
  const doc = new Y.Doc(); doc.clientID = 1; const text = doc.getText('text'); const updates = []
  doc.on('update', u => updates.push(u))
  time('replay ms', () => { for (const [at, removed, inserted] of patches) { if (removed) text.delete(at, removed); if (inserted) text.insert(at, inserted) } })
  if (text.toString() !== trace.endContent) throw new Error('wrong content')
  const v1 = time('encode v1 ms', () => Y.encodeStateAsUpdate(doc)); const v2 = time('encode v2 ms', () => Y.encodeStateAsUpdateV2(doc))
  print('v1 B', v1.length); print('v2 B', v2.length)
  const loaded = time('parse v1 ms', () => load(v1, Y.applyUpdate))
  time('parse v2 ms', () => load(v2, Y.applyUpdateV2))
  time('apply all updates ms', () => applied(updates))
  time('merge 2000 updates ms', () => Y.mergeUpdates(updates.slice(0, 2000)))
  void loaded.clientID
} else if (kind === 'updates') {
  const updates = lines(what).map(l => Buffer.from(l.v1, 'hex'))
  const doc = time('apply all updates ms', () => applied(updates))
  print('v1 B', Y.encodeStateAsUpdate(doc).length)
} else if (kind === 'memory') {
  const state = fs.readFileSync(what); load(state, Y.applyUpdate)
  const before = heap(); const documents = Array.from({ length: 20 }, () => load(state, Y.applyUpdate))
  print('document memory B', Math.round((heap() - before) / documents.length))
} else {
  const doc = new Y.Doc(); doc.clientID = 1; const text = doc.getText('text'); let seed = 1n
  doc.on('update', () => {})
  time('random replay ms', () => {
    for (let length = 0; length < Number(what); length++) {
      seed = (seed * 6364136223846793005n + 1442695040888963407n) & 0xFFFFFFFFFFFFFFFFn
      text.insert(Number((seed >> 33n) % BigInt(length + 1)), 'x')
    }
  })
  const v1 = Y.encodeStateAsUpdate(doc)
  time('random parse v1 ms', () => load(v1, Y.applyUpdate)); print('random v1 B', v1.length)
}
