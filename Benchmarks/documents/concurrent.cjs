// Turns a concurrent trace into updates: one document of Yjs for each author, who sees what the author saw. Writes the updates in the
// trace's order, {"v1": hex} a line, and checks that all of them together make the trace's end.
//   node concurrent.cjs TRACE.json.gz OUT.jsonl.gz
'use strict'
const fs = require('fs'); const zlib = require('zlib'); const Y = require('yjs')
const [file, out] = process.argv.slice(2)
const trace = JSON.parse(zlib.gunzipSync(fs.readFileSync(file)))
const authors = Array.from({ length: trace.numAgents }, (_, n) => {
  const doc = new Y.Doc(); doc.clientID = n + 1
  return { doc, text: doc.getText('text'), sees: new Array(trace.numAgents).fill(0), updates: [] }
})
const after = []                                             // of each transaction: how many of each author's it includes
const made = []
trace.txns.forEach((txn, index) => {
  const author = authors[txn.agent]; const seen = new Array(trace.numAgents).fill(0)
  for (const parent of txn.parents) after[parent].forEach((n, agent) => { seen[agent] = Math.max(seen[agent], n) })
  seen.forEach((n, agent) => {
    if (agent === txn.agent) return
    for (; author.sees[agent] < n; author.sees[agent]++) { const u = authors[agent].updates[author.sees[agent]]; if (u) Y.applyUpdate(author.doc, u) }
  })
  let update = null
  const collect = u => { update = u }
  author.doc.on('update', collect)
  author.doc.transact(() => {
    for (const [at, removed, inserted] of txn.patches) { if (removed) author.text.delete(at, removed); if (inserted) author.text.insert(at, inserted) }
  })
  author.doc.off('update', collect)
  author.updates.push(update); seen[txn.agent] = author.updates.length; after[index] = seen
  if (update) made.push(update)
})
const doc = new Y.Doc()
for (const update of made) Y.applyUpdate(doc, update)
if (doc.getText('text').toString() !== trace.endContent) throw new Error('not the end of the trace')
fs.writeFileSync(out, zlib.gzipSync(made.map(u => JSON.stringify({ v1: Buffer.from(u).toString('hex') })).join('\n') + '\n'))
