extension Store {
    /// Ends a transaction: collects what was deleted, joins neighbours, and writes the update (Yjs: cleanupTransactions).
    ///
    /// Returns nil if nothing changed.
    mutating func finish(_ version: UpdateVersion?) -> [UInt8]? {
        if changes.isObserved { lastChanges = [] }
        guard !changes.isEmpty || !changes.cut.isEmpty else { return nil }
        changes.deleted.sort()
        if changes.isObserved { lastChanges = summary() }
        if collects { collectDeleted() }
        joinDeleted()
        for client in changes.clients {
            // The index is not kept in a constant: a second reference would make each join copy it.
            let before = clients[Int(client)].place(clients[Int(client)].before)
            join(client, from: clients[Int(client)].last, downTo: clients[Int(client)].clock(at: before))
        }
        for id in changes.cut {
            let place = place(id)
            if let after = clients[Int(id.client)].place(after: place) { join(id.client, after) }
            join(id.client, place)
        }
        let update = changes.isEmpty ? nil : version.map { write($0) }
        for client in changes.clients { clients[Int(client)].before = -1 }
        changes.removeAll()
        return update
    }

    private mutating func collectDeleted() {
        for range in changes.deleted.ranges.reversed() {
            var next: ClockIndex.Place? = place(BlockID(client: range.client, clock: range.clock))
            while let place = next, case let index = clients[Int(range.client)][place], blocks[Int(index)].id.clock < range.end {
                let block = blocks[Int(index)]
                if block.isDeleted, !block.isKept, block.kind != .collected { collect(index, isWhole: false) }
                next = clients[Int(range.client)].place(after: place)
            }
        }
    }

    private mutating func joinDeleted() {
        for range in changes.deleted.ranges.reversed() {
            let last = place(BlockID(client: range.client, clock: range.end - 1))
            join(range.client, from: clients[Int(range.client)].place(after: last) ?? last, downTo: range.clock)
        }
    }

    /// Joins blocks with the ones before them, from right to left, so that a run becomes one block.
    private mutating func join(_ client: Int32, from place: ClockIndex.Place?, downTo clock: Int32) {
        var next = place
        while let place = next, clients[Int(client)].clock(at: place) >= clock {
            next = clients[Int(client)].place(before: place)
            join(client, place)
        }
    }

    /// Writes what the transaction has changed.
    private func write(_ version: UpdateVersion) -> [UInt8] {
        var writer = UpdateWriter(version)
        write(changes.clients.map { ($0, clients[Int($0)].before) }, &writer)
        writer.deletes(changes.deleted, contents)
        return writer.finish()
    }

    /// Writes the blocks of clients, each from a clock on, in descending order of the clients.
    private func write(_ parts: [(client: Int32, clock: Int32)], _ writer: inout UpdateWriter) {
        writer.clients(parts.count)
        let order = parts.count < 2 ? parts : parts.map { ($0, contents.clients[$0.client]) }.sorted { $0.1 > $1.1 }.map(\.0)
        for (client, clock) in order {
            let place = clients[Int(client)].place(clock)
            var offset = clock - clients[Int(client)].clock(at: place)
            writer.client(client, blocks: clients[Int(client)].count(from: place), clock: clock, contents)
            for index in clients[Int(client)].blocks(from: place) {
                writer.block(blocks[Int(index)], from: offset, parent: parent(blocks[Int(index)]), contents)
                offset = 0
            }
        }
    }

    /// The parent of a block that has to name it.
    private func parent(_ block: Block) -> UpdateWriter.Parent? {
        guard block.origin.isNone, block.rightOrigin.isNone, block.parent >= 0 else { return nil }
        let branch = contents.branches[Int(block.parent)]
        return branch.block < 0 ? .root(branch.root) : .block(blocks[Int(branch.block)].id)
    }

    /// A block as an update has it, with the name of its parent.
    func unbound(_ block: Block) -> Block {
        var unbound = block
        (unbound.left, unbound.right, unbound.parent) = (-1, -1, -1)
        switch parent(block) {
        case .root(let name):
            unbound.isParentRoot = true
            unbound.parent = name
        case .block(let id):
            unbound.isParentID = true
            unbound.parentID = id
        case nil: break
        }
        return unbound
    }

    /// Writes everything that a document with the given state vector lacks, and all deletions.
    func write(since known: [UInt64: Int32], _ version: UpdateVersion) -> [UInt8] {
        var missing: [(client: Int32, clock: Int32)] = []
        for client in clients.indices where clients[client].next > 0 {
            let clock = known[contents.clients[Int32(client)]] ?? 0
            if clock < clients[client].next { missing.append((Int32(client), clock)) }
        }
        var writer = UpdateWriter(version)
        write(missing, &writer)
        writer.deletes(deleted, contents)
        return writer.finish()
    }

    /// Everything that is deleted.
    var deleted: IDSet {
        var set = IDSet()
        for client in clients {
            for index in client.blocks() where blocks[Int(index)].isDeleted { set.insert(blocks[Int(index)].id, blocks[Int(index)].length) }
        }
        return set
    }

    var stateVector: [(client: UInt64, clock: Int32)] {
        clients.indices.filter { clients[$0].next > 0 }.map { (contents.clients[Int32($0)], clients[$0].next) }
    }
}
