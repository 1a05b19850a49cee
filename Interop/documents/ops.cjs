// The operations on shared documents that oracle.cjs carries out with Yjs 13 (Debian's node-yjs): one JSON object each.
// A document has the roots text (Y.Text), array, map, xml (Y.XmlFragment). A path is a root's name and then keys or indices.
//   {op:"insert", path, at, values}          array, xml       {op:"set", path, key, value}    map, xml element, xml text
//   {op:"type", path, at, text, attrs?}      text             {op:"unset", path, key}
//   {op:"embed", path, at, value, attrs?}    text             {op:"delete", path, at, length} text, array, xml
//   {op:"format", path, at, length, attrs}   text             {op:"delta", path, delta}       text
//   {op:"undo"} {op:"redo"} {op:"cut"}  (cut: the next change starts a new step of undo)     {op:"all", ops:[…]} one transaction
// Indices count UTF-16 units. Values are JSON, and what JSON has not: {$bytes:hex} {$undefined:1} {$bigint:"…"} {$number:"NaN"}
// {$map:1} {$array:1} {$text:1} {$xmltext:1} {$xml:"p"} {$hook:"h"} {$doc:"guid"} (empty new types).
'use strict'
const Y = require('yjs')
const hex = (bytes) => Buffer.from(bytes).toString('hex')
const bytes = (string) => new Uint8Array(Buffer.from(string, 'hex'))

const revive = (v) => {
  if (v === null || typeof v !== 'object') return v
  if (Array.isArray(v)) return v.map(revive)
  const [key] = Object.keys(v)
  switch (key) {
    case '$bytes': return bytes(v.$bytes)
    case '$undefined': return undefined
    case '$bigint': return BigInt(v.$bigint)
    case '$number': return Number(v.$number)
    case '$map': return new Y.Map()
    case '$array': return new Y.Array()
    case '$text': return new Y.Text()
    case '$xmltext': return new Y.XmlText()
    case '$xml': return new Y.XmlElement(v.$xml)
    case '$hook': return new Y.XmlHook(v.$hook)
    case '$doc': return new Y.Doc({ guid: v.$doc })
  }
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, revive(x)]))
}

const dump = (v) => {
  if (v === undefined) return { $undefined: 1 }
  if (typeof v === 'bigint') return { $bigint: String(v) }
  if (typeof v === 'number' && (!Number.isFinite(v) || Object.is(v, -0))) return { $number: Object.is(v, -0) ? '-0' : String(v) }
  if (v === null || typeof v !== 'object') return v
  if (v instanceof Uint8Array) return { $bytes: hex(v) }
  if (v instanceof Y.Doc) return { $doc: v.guid }
  if (Array.isArray(v)) return v.map(dump)
  if (v instanceof Y.XmlElement) return { $xml: v.nodeName, attrs: dump(v.getAttributes()), children: v.toArray().map(dump) }
  if (v instanceof Y.XmlText) return { $xmltext: delta(v), attrs: dump(v.getAttributes()) }
  if (v instanceof Y.XmlHook) return { $hook: v.hookName, map: entries(v) }
  if (v instanceof Y.Text) return { $text: delta(v) }
  if (v instanceof Y.Array) return { $array: v.toArray().map(dump) }
  if (v instanceof Y.Map) return { $map: entries(v) }
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, dump(x)]))
}
const entries = (map) => { const out = {}; map.forEach((v, k) => { out[k] = dump(v) }); return out }
const run = (op) => op.attributes ? { insert: dump(op.insert), attributes: dump(op.attributes) } : { insert: dump(op.insert) }
const delta = (text) => text.toDelta().map(run)

class Document {
  // After a remote change Yjs cleans up marks, in a transaction of its own that the others have to be told of. A passive document
  // does not, so that it holds what the updates say and nothing else.
  constructor (client, { gc = true, undo = false, passive = false } = {}) {
    this.doc = new Y.Doc({ gc })
    this.doc.clientID = client
    this.updates = []                               // what the last call emitted, v1 and v2; "own" if nobody else made it
    const { doc } = this
    this.roots = { text: doc.getText('text'), array: doc.getArray('array'), map: doc.getMap('map'), xml: doc.getXmlFragment('xml') }
    if (undo) this.undo = new Y.UndoManager(Object.values(this.roots), { captureTimeout: 1e9 })
    this.doc.on('update', (u, origin) => this.updates.push({ v1: hex(u), own: origin !== 'remote' }))
    this.doc.on('updateV2', u => { this.updates[this.updates.length - 1].v2 = hex(u) })
    if (passive) {
      this.doc.on('beforeObserverCalls', transaction => {
        if (transaction.origin !== 'remote') return
        transaction.local = true
        // Yjs keeps places in long lists, and drops them after what is no local change.
        transaction.changed.forEach((_, type) => { if (type._searchMarker) type._searchMarker = [] })
      })
    }
  }

  at (path) {
    let type = this.roots[path[0]]
    for (const step of path.slice(1)) type = type.get(step)
    return type
  }

  run (op) {
    this.updates = []
    this.one(op)
    return this.updates
  }

  one (op) {
    const type = op.path ? this.at(op.path) : null
    switch (op.op) {
      case 'insert': type.insert(op.at, op.values.map(revive)); break
      case 'type': type.insert(op.at, op.text, op.attrs && revive(op.attrs)); break
      case 'embed': type.insertEmbed(op.at, revive(op.value), op.attrs && revive(op.attrs)); break
      case 'format': type.format(op.at, op.length, revive(op.attrs)); break
      case 'delete': type.delete(op.at, op.length); break
      case 'delta': type.applyDelta(revive(op.delta)); break
      case 'set': type.set ? type.set(op.key, revive(op.value)) : type.setAttribute(op.key, revive(op.value)); break
      case 'unset': type.set ? type.delete(op.key) : type.removeAttribute(op.key); break
      case 'all': this.doc.transact(() => op.ops.forEach(o => this.one(o))); break
      case 'undo': this.undo.undo(); break
      case 'redo': this.undo.redo(); break
      case 'cut': this.undo.stopCapturing(); break
      default: throw new Error(`no operation ${op.op}`)
    }
  }

  apply (update) {                                   // {v1} or {v2}
    this.updates = []
    update.v1 ? Y.applyUpdate(this.doc, bytes(update.v1), 'remote') : Y.applyUpdateV2(this.doc, bytes(update.v2), 'remote')
    return this.updates.filter(u => u.own)
  }

  dump () {
    const r = this.roots
    return { text: delta(r.text), array: r.array.toArray().map(dump), map: entries(r.map), xml: r.xml.toArray().map(dump) }
  }

  state () { return hex(Y.encodeStateVector(this.doc)) }

  full (vector) {
    const known = vector ? bytes(vector) : undefined
    return { v1: hex(Y.encodeStateAsUpdate(this.doc, known)), v2: hex(Y.encodeStateAsUpdateV2(this.doc, known)) }
  }

  pending () { return this.doc.store.pendingStructs !== null || this.doc.store.pendingDs !== null }
}

module.exports = { Y, Document, hex, bytes }
