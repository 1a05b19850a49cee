public import MachineCore

/// Takes back a user's own edits and makes them again, while the edits of others stay (Yjs: UndoManager.js).
///
/// A step is what was edited within ``groupingTime``. Pass the same value to ``SharedDocument/commit(_:noting:at:)`` after each edit.
/// What a step deleted stays in the document until the step is dropped, so that undo can make it again.
public struct DocumentUndo: Sendable {
    /// What was inserted and deleted.
    private struct Step {
        var insertions = IDSet()
        var deletions = IDSet()
        /// The clients of the deletions, in the order in which they came.
        ///
        /// It decides what is made again first.
        var clients: [Int32] = []
    }

    private enum Cause { case edit, undo, redo }

    private let scope: Set<Int32>
    private var undoSteps: [Step] = []
    private var redoSteps: [Step] = []
    private var last: Moment?
    /// Edits that follow the one before within this time belong to the same step.
    public let groupingTime: Duration
    /// The most steps that can be taken back.
    ///
    /// The oldest goes first, with the content that was kept for it.
    public var maximumSteps = 1000

    /// Creates an empty history of edits in these shared types and in all that they contain.
    public init(of types: [SharedType], groupingTime: Duration = .milliseconds(500)) {
        scope = Set(types.map(\.branch))
        self.groupingTime = groupingTime
    }

    /// Whether there is a step to take back.
    public var canUndo: Bool { !undoSteps.isEmpty }
    /// Whether there is a step to make again.
    public var canRedo: Bool { !redoSteps.isEmpty }

    /// Ends the current step: the next edit begins a new one.
    public mutating func endStep() { last = nil }

    /// Takes back the last step that still has an effect, and returns the update.
    ///
    /// Nil if nothing changed.
    public mutating func undo(_ document: inout SharedDocument, _ version: UpdateVersion = .v1) -> [UInt8]? {
        document.finishEdits()
        while document.store.changes.isEmpty, let step = undoSteps.popLast() { revert(step, &document) }
        note(&document.store, .undo)
        last = nil
        return document.commit(version)
    }

    /// Makes the step again that was taken back last, and returns the update.
    ///
    /// Nil if nothing changed.
    public mutating func redo(_ document: inout SharedDocument, _ version: UpdateVersion = .v1) -> [UInt8]? {
        document.finishEdits()
        while document.store.changes.isEmpty, let step = redoSteps.popLast() { revert(step, &document) }
        note(&document.store, .redo)
        return document.commit(version)
    }

    // MARK: - Noting

    /// Adds the changes of a transaction that is about to end.
    mutating func note(_ store: inout Store, at moment: Moment) {
        let before = last
        guard note(&store, .edit, joins: before.map { moment.offset < $0.offset + groupingTime } ?? false) else { return }
        last = moment
    }

    @discardableResult private mutating func note(_ store: inout Store, _ cause: Cause, joins: Bool = false) -> Bool {
        var step = Step()
        for client in store.changes.clients {
            let before = store.clients[Int(client)].before
            step.insertions.insert(BlockID(client: client, clock: before), store.next(client) - before)
        }
        step.insertions.sort()
        step.deletions = store.changes.deleted
        step.clients = step.deletions.clients
        step.deletions.sort()
        let deleted = store.blocks(of: step.deletions, step.clients).filter { isInScope($0, store) }
        let inserted = store.blocks(of: step.insertions, store.changes.clients)
        guard !deleted.isEmpty || inserted.contains(where: { isInScope($0, store) }) else { return false }
        if cause == .edit {
            // First of all: what goes with these steps may contain what was deleted now.
            drop(redoSteps, &store)
            redoSteps = []
        }
        for index in deleted { store.keep(index, true) }
        switch cause {
        case .undo: redoSteps.append(step)
        case .redo: undoSteps.append(step)
        case .edit:
            if joins, let current = undoSteps.popLast() {
                var joined = current
                joined.insertions.formUnion(step.insertions)
                joined.insertions.sort()
                joined.deletions.formUnion(step.deletions)
                joined.deletions.sort()
                joined.clients += step.clients.filter { !current.clients.contains($0) }
                step = joined
            }
            undoSteps.append(step)
            if undoSteps.count > maximumSteps {
                drop(Array(undoSteps.prefix(undoSteps.count - maximumSteps)), &store)
                undoSteps.removeFirst(undoSteps.count - maximumSteps)
            }
        }
        return true
    }

    /// Lets go of what steps have deleted.
    private func drop(_ steps: [Step], _ store: inout Store) {
        for step in steps {
            for index in store.blocks(of: step.deletions, step.clients) where isInScope(index, store) { store.keep(index, false) }
        }
    }

    private func isInScope(_ index: Int32, _ store: Store) -> Bool {
        var index = index
        while index >= 0, case let block = store.blocks[Int(index)], block.parent >= 0 {
            if scope.contains(block.parent) { return true }
            index = store.contents.branches[Int(block.parent)].block
        }
        return false
    }

    // MARK: - Reverting

    /// Deletes what a step inserted, and makes again what it deleted.
    private func revert(_ step: Step, _ document: inout SharedDocument) {
        let inserted = document.store.cut(step.insertions, step.insertions.clients).map { document.store.followRedone($0) }
            .filter { !document.store.blocks[Int($0)].isDeleted && isInScope($0, document.store) }
        // What the same step inserted and deleted is not made again.
        let deleted = document.store.cut(step.deletions, step.clients)
            .filter { isInScope($0, document.store) && !step.insertions.contains(document.store.blocks[Int($0)].id) }
        let wanted = Set(deleted)
        for index in deleted { document.redo(index, wanted, step.insertions) }
        // Children stand behind their parents, and are deleted first.
        for index in inserted.reversed() { document.store.delete(index) }
    }
}

extension SharedDocument {
    /// Ends a transaction and notes it for undo.
    ///
    /// - Parameters:
    ///   - undo: The user's history.
    ///   - moment: Now. It decides whether the edits belong to the step before.
    public mutating func commit(_ version: UpdateVersion = .v1, noting undo: inout DocumentUndo, at moment: Moment) -> [UInt8]? {
        if !store.changes.isEmpty { undo.note(&store, at: moment) }
        return commit(version)
    }

    /// Makes a deleted block again, where it was.
    ///
    /// Does nothing if its parent is gone for good, or if another has set its key since.
    fileprivate mutating func redo(_ index: Int32, _ wanted: Set<Int32>, _ insertions: IDSet) {
        // The parents that have to be made again first. Not by recursion, because the depth may be any.
        var chain = [index]
        while let child = chain.last, case let holder = store.contents.branches[Int(store.blocks[Int(child)].parent)].block, holder >= 0,
            store.blocks[Int(holder)].isDeleted, !store.blocks[Int(holder)].isRedone
        {
            guard wanted.contains(holder) else { return }
            chain.append(holder)
        }
        for index in chain.reversed() where !store.blocks[Int(index)].isRedone {
            guard remake(index, insertions) else { return }
        }
    }

    private mutating func remake(_ index: Int32, _ insertions: IDSet) -> Bool {
        let block = store.blocks[Int(index)]
        var holder = store.contents.branches[Int(block.parent)].block
        while holder >= 0, let next = store.redoneStart(of: holder) { holder = next }
        let parent = holder < 0 ? block.parent : store.blocks[Int(holder)].content
        var left: Int32 = -1, right: Int32 = -1
        if block.key < 0 {
            (left, right) = (block.left, index)
            while left >= 0, case let place = store.trace(left, to: holder) {
                if place >= 0 {
                    left = place
                    break
                }
                left = store.blocks[Int(left)].left
            }
            while right >= 0, case let place = store.trace(right, to: holder) {
                if place >= 0 {
                    right = place
                    break
                }
                right = store.blocks[Int(right)].right
            }
        } else if block.right >= 0 {
            left = index
            // A later value of this step goes away, so it does not stand against the old one.
            while case let next = store.blocks[Int(left)].right, next >= 0, insertions.contains(store.blocks[Int(next)].id) { left = next }
            while let next = store.redoneStart(of: left) { left = next }
            // The value of another client stays.
            if store.blocks[Int(left)].right >= 0 { return false }
            // Its type was made again, too, and the old values stay in the old one. Yjs links both, and other copies see nothing of it.
            if store.blocks[Int(left)].parent != parent { left = store.contents.branches[Int(parent)].map[block.key] }
        } else {
            left = store.contents.branches[Int(parent)].map[block.key]
        }
        var content = block.content
        if block.kind == .text {
            // Not the same units: where the deleted block is cut within a surrogate pair, its units change.
            content = store.contents.units.copied(block.content, block.length)
        } else if block.kind == .type {
            let old = store.contents.branches[Int(content)]
            var branch = Branch(kind: old.kind)
            branch.name = old.name
            store.contents.branches.append(branch)
            content = Int32(store.contents.branches.count - 1)
        }
        store.blocks[Int(index)].isRedone = true
        store.redone[index] = BlockID(client: ownNumber, clock: store.next(ownNumber))
        let new = insert(block.kind, content: content, length: block.length, between: left, right, in: parent, key: block.key)
        store.keep(new, true)
        return true
    }
}

extension Store {
    /// The block that was made again in place of this one, from where it begins.
    fileprivate mutating func redoneStart(of index: Int32) -> Int32? {
        guard blocks[Int(index)].isRedone, let id = redone[index] else { return nil }
        return blockStarting(with: id)
    }

    /// The latest block that was made again in place of this one, or the block itself.
    fileprivate mutating func followRedone(_ index: Int32) -> Int32 {
        var (index, offset) = (index, Int32(0))
        while blocks[Int(index)].isRedone, let target = redone[index] {
            let id = BlockID(client: target.client, clock: target.clock + offset)
            index = block(id)
            offset = id.clock - blocks[Int(index)].id.clock
        }
        guard offset > 0 else { return index }
        return blockStarting(with: BlockID(client: blocks[Int(index)].id.client, clock: blocks[Int(index)].id.clock + offset))
    }

    /// The block that stands for this one in the list of the type that `holder` holds, or −1.
    fileprivate mutating func trace(_ index: Int32, to holder: Int32) -> Int32 {
        var index = index
        while index >= 0 {
            let parent = blocks[Int(index)].parent
            guard parent >= 0 else { return -1 }
            if contents.branches[Int(parent)].block == holder { return index }
            index = redoneStart(of: index) ?? -1
        }
        return -1
    }

    /// Sets whether a block and all that contain it stay when they are deleted.
    fileprivate mutating func keep(_ index: Int32, _ isKept: Bool) {
        var index = index
        while index >= 0, blocks[Int(index)].isKept != isKept {
            blocks[Int(index)].isKept = isKept
            let parent = blocks[Int(index)].parent
            index = parent < 0 ? -1 : contents.branches[Int(parent)].block
        }
    }

    /// The blocks of a set, client by client.
    ///
    /// Collected ones are left out.
    fileprivate func blocks(of set: IDSet, _ clients: [Int32]) -> [Int32] {
        var found: [Int32] = []
        for client in clients {
            for range in set.ranges where range.client == client {
                for index in self.clients[Int(client)].blocks(from: place(BlockID(client: client, clock: range.clock))) {
                    if blocks[Int(index)].id.clock >= range.end { break }
                    if blocks[Int(index)].kind != .collected { found.append(index) }
                }
            }
        }
        return found
    }

    /// As ``blocks(of:_:)``, with the blocks at both ends of each range cut, so that they lie within it.
    fileprivate mutating func cut(_ set: IDSet, _ clients: [Int32]) -> [Int32] {
        for range in set.ranges {
            _ = blockStarting(with: BlockID(client: range.client, clock: range.clock))
            _ = blockEnding(with: BlockID(client: range.client, clock: range.end - 1))
        }
        return blocks(of: set, clients)
    }
}
