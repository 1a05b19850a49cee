public import MachineCore

/// A document that many edit at once, and that ends equal everywhere: texts, arrays, maps and XML in the formats of Yjs.
///
/// It is a value. Edits take effect at once; ``commit(_:)`` ends a transaction and returns the update for the other copies. Updates of
/// others go to ``apply(_:_:)``, in any order and however often. Indices count UTF-16 units, as `NSRange` and JavaScript do.
///
/// Copies are cheap until one of them changes. A bad update changes nothing, because it is read and checked as a whole first.
public struct SharedDocument: Sendable {
    var store = Store()
    private var pending = Pending()
    /// Updates of edits that were committed because another update came.
    private var unsent: [[UInt8]] = []
    /// The identity of this copy, under which its edits are known everywhere.
    public private(set) var client: UInt64
    private(set) var ownNumber: Int32
    /// The most blocks that may wait for others before updates are refused.
    public var maximumPending = 100_000

    /// Creates an empty document.
    ///
    /// - Parameters:
    ///   - client: The identity of this copy, at most 2^53 − 1. Draw a new one for each session of the document, for example 32 random
    ///     bits: if two copies edit under one identity, the documents differ for ever.
    ///   - keepsDeleted: Whether the content of what is deleted stays in the document.
    public init(client: UInt64, keepsDeleted: Bool = false) {
        self.client = client
        ownNumber = store.contents.clients.intern(client)
        store.collects = !keepsDeleted
    }

    /// Whether blocks or deletions wait for an update that has not come yet.
    public var isPending: Bool { !pending.isEmpty }

    /// Whether another copy edits under the identity of this one.
    ///
    /// Draw a new identity then (``rename(to:)``).
    public private(set) var isClientTaken = false

    /// Gives this copy a new identity for the edits to come.
    public mutating func rename(to client: UInt64) {
        self.client = client
        ownNumber = store.contents.clients.intern(client)
        isClientTaken = false
    }

    /// The number of blocks of which the document consists.
    public var blockCount: Int { store.clients.reduce(0) { $0 + $1.count } }

    // MARK: - Updates

    /// Applies an update.
    ///
    /// What it has new takes effect, and what needs other updates waits for them.
    ///
    /// - Throws: A ``DocumentError`` if the update cannot be read, or if too much waits. The document is then as it was before.
    public mutating func apply(_ bytes: [UInt8], _ version: UpdateVersion = .v1) throws(DocumentError) {
        try integrate(bytes, version)
        finishRemote()
    }

    /// Applies an update and notes it for undo, as if the user had made it: for example an update from another window of the same user.
    ///
    /// - Throws: A ``DocumentError``, as ``apply(_:_:)`` does.
    public mutating func apply(_ bytes: [UInt8], _ version: UpdateVersion = .v1, noting undo: inout DocumentUndo, at moment: Moment)
        throws(DocumentError)
    {
        try integrate(bytes, version)
        if !store.changes.isEmpty { undo.note(&store, at: moment) }
        finishRemote()
    }

    private mutating func finishRemote() {
        _ = store.finish(nil)
        // What waits refers to the pools, too.
        if pending.isEmpty { store.compactIfNeeded() }
    }

    private mutating func integrate(_ bytes: [UInt8], _ version: UpdateVersion) throws(DocumentError) {
        finishEdits()
        let checkpoint = store.contents.checkpoint
        let update: Update
        do throws(DocumentError) {
            var reader = try UpdateReader(bytes, version)
            update = try reader.read(into: &store.contents)
            if !pending.isEmpty, pending.count + update.blocks.count + update.deletes.ranges.count > maximumPending {
                throw DocumentError(.tooLarge)
            }
        } catch {
            store.contents.restore(checkpoint)
            throw error
        }
        // Servers send every update back to its author. It must not leave its texts behind.
        if !hasNews(update, checkpoint) { store.contents.restore(checkpoint) }
        pending.apply(update, to: &store)
    }

    /// Whether an update has blocks that are not here and do not wait here, or names clients that nobody knows.
    ///
    /// Notes edits under the own identity that this copy did not make.
    private mutating func hasNews(_ update: Update, _ checkpoint: Contents.Checkpoint) -> Bool {
        var hasNews = false
        for block in update.blocks where block.kind != .skip && block.end > store.next(block.id.client) {
            if block.id.client == ownNumber { isClientTaken = true }
            if !hasNews { hasNews = !pending.holds(block) }
        }
        for range in update.deletes.ranges {
            if range.client == ownNumber, range.end > store.next(ownNumber) { isClientTaken = true }
            if range.client >= checkpoint.clients { hasNews = true }
        }
        return hasNews
    }

    /// Ends a transaction of edits that nobody has committed.
    ///
    /// The next commit returns them.
    mutating func finishEdits() {
        if !store.changes.isEmpty, let update = store.finish(.v1) { unsent.append(update) }
    }

    /// Ends a transaction: returns the update of all edits since the last call, or nil if nothing changed.
    public mutating func commit(_ version: UpdateVersion = .v1) -> [UInt8]? {
        let update = store.finish(version)
        if pending.isEmpty { store.compactIfNeeded() }
        guard !unsent.isEmpty else { return update }
        var all = unsent
        unsent = []
        if version == .v2 { all = all.compactMap { try? DocumentUpdate.convert($0, from: .v1, to: .v2) } }
        return try? DocumentUpdate.merge(all + (update.map { [$0] } ?? []), version)
    }

    /// Returns an update with everything that a copy with this state vector lacks, and with what waits here.
    ///
    /// - Throws: A ``DocumentError`` if the state vector cannot be read.
    public func update(since stateVector: [UInt8]? = nil, _ version: UpdateVersion = .v1) throws(DocumentError) -> [UInt8] {
        let known = try stateVector.map { bytes throws(DocumentError) in try DocumentUpdate.stateVector(bytes) } ?? [:]
        let update = store.write(since: known, version)
        guard isPending else { return update }
        // What is here counts, also where a hostile block that waits has other content for it.
        var rest = pending.update(store.contents)
        rest.drop(known.merging(store.stateVector.map { ($0.client, $0.clock) }) { max($0, $1) })
        return try DocumentUpdate.merge([update, rest.write(version)], version)
    }

    /// The state vector: each client's next clock.
    ///
    /// Another copy answers it with what is missing here.
    public var stateVector: [UInt8] {
        var writer = UpdateWriter(.v1)
        writer.stateVector(store.stateVector)
        return writer.finish()
    }
}
