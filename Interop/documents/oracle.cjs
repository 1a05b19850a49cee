// Yjs as a child process that our documents are compared with: a JSON object per line in, one per line out.
// Run:  NODE_PATH=/usr/share/nodejs node oracle.cjs       (operations: see ops.cjs; numbers are handles of documents)
//   {"new":1,"client":7,"gc":true,"undo":false,"passive":false} -> {}          {"reset":1} -> {} (frees all documents)
//   {"doc":1,"do":OP} -> {"updates":[{"v1":hex,"v2":hex}]}    {"doc":1,"apply":{"v1":hex}} -> {"updates":[what it does itself]}
//   {"doc":1,"dump":1} -> {"text":…,"array":…,"map":…,"xml":…}
//   {"doc":1,"state":1} -> {"sv":hex,"pending":false}          {"doc":1,"full":SV or ""} -> {"v1":hex,"v2":hex}
//   {"doc":1,"relative":[PATH,INDEX,ASSOC]} -> {"rpos":hex}    {"doc":1,"absolute":hex} -> {"index":3} or {"index":null}
//   {"merge":[hex,…]} -> {"v1":hex}   {"diff":[hex,SV]} -> {"v1":hex}   {"vector":hex} -> {"sv":hex}     an error: {"error":"…"}
'use strict'
const { Y, Document, hex, bytes } = require('./ops.cjs')
const documents = new Map()
const answer = (m) => {
  if ('new' in m) { documents.set(m.new, new Document(m.client, m)); return {} }
  if (m.reset) { documents.clear(); return {} }
  if (m.merge) return { v1: hex(Y.mergeUpdates(m.merge.map(bytes))) }
  if (m.diff) return { v1: hex(Y.diffUpdate(bytes(m.diff[0]), bytes(m.diff[1]))) }
  if (m.vector) return { sv: hex(Y.encodeStateVectorFromUpdate(bytes(m.vector))) }
  const d = documents.get(m.doc)
  if (m.do) return { updates: d.run(m.do) }
  if (m.apply) return { updates: d.apply(m.apply) }
  if (m.dump) return d.dump()
  if (m.state) return { sv: d.state(), pending: d.pending() }
  if ('full' in m) return d.full(m.full)
  if (m.relative) {
    const [path, index, assoc] = m.relative
    return { rpos: hex(Y.encodeRelativePosition(Y.createRelativePositionFromTypeIndex(d.at(path), index, assoc))) }
  }
  if (m.absolute) {
    const place = Y.createAbsolutePositionFromRelativePosition(Y.decodeRelativePosition(bytes(m.absolute)), d.doc)
    return { index: place && place.index }
  }
  throw new Error('not understood')
}
// Yjs warns on the standard output when it is misused. Only answers belong there.
console.log = console.warn = console.error
require('readline').createInterface({ input: process.stdin }).on('line', line => {
  let out
  try { out = answer(JSON.parse(line)) } catch (error) { out = { error: String(error) } }
  process.stdout.write(JSON.stringify(out) + '\n')
})
