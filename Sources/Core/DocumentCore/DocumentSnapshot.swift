/// What a document held at some time: how far each client had come, and what was deleted then (Yjs: Snapshot.js).
///
/// A document can show it only if it keeps what was deleted since (``SharedDocument/init(client:keepsDeleted:)``). To store versions of
/// other documents, store their states.
public struct DocumentSnapshot: Sendable {
    /// Only its clients are used.
    private var clients = Contents()
    private var deletes = IDSet()
    private var vector: [UInt64: Int32] = [:]

    /// Reads a snapshot of Yjs.
    ///
    /// - Throws: A ``DocumentError`` if the bytes are no snapshot.
    public init(_ bytes: [UInt8], _ version: UpdateVersion = .v1) throws(DocumentError) {
        var reader = UpdateReader(snapshot: bytes, version)
        deletes = try reader.deletes(&clients)
        vector = try reader.stateVector()
    }

    fileprivate init(_ store: Store) {
        deletes = store.deleted
        // Not all contents: a second reference would make the next edit copy them.
        clients.clients = store.contents.clients
        vector = Dictionary(store.stateVector.map { ($0.client, $0.clock) }) { $1 }
    }

    /// The snapshot as Yjs reads it.
    public func bytes(_ version: UpdateVersion = .v1) -> [UInt8] {
        var writer = UpdateWriter(snapshot: version)
        writer.deletes(deletes, clients)
        writer.stateVector(vector.map { ($0.key, $0.value) })
        return writer.rest.bytes
    }

    /// The update that brings an empty document to what this one held then.
    fileprivate func update(of store: Store, _ version: UpdateVersion) -> [UInt8] {
        var then = Unbound(contents: store.contents)
        for client in store.clients.indices {
            let end = min(vector[store.contents.clients[Int32(client)]] ?? 0, store.clients[client].next), start = then.update.blocks.count
            guard end > 0 else { continue }
            for index in store.clients[client].blocks() where store.blocks[Int(index)].id.clock < end {
                var block = store.unbound(store.blocks[Int(index)])
                block.length = min(block.length, end - block.id.clock)
                then.update.blocks.append(block)
            }
            then.update.runs.append(Update.Run(client: Int32(client), blocks: start..<then.update.blocks.count))
        }
        for range in deletes.ranges {
            let client = then.contents.clients.intern(clients.clients[range.client])
            then.update.deletes.insert(BlockID(client: client, clock: range.clock), range.length)
        }
        then.merge()
        return then.write(version)
    }
}

extension SharedDocument {
    /// What the document holds now.
    public var snapshot: DocumentSnapshot { DocumentSnapshot(store) }

    /// The update that brings an empty document to what this one held at a snapshot.
    ///
    /// Content that was dropped since is missing in it, unless the document keeps what is deleted.
    public func update(at snapshot: DocumentSnapshot, _ version: UpdateVersion = .v1) -> [UInt8] { snapshot.update(of: store, version) }
}
