extension Store {
    /// Ends a transaction: collects what was deleted, joins neighbours, and writes the update (Yjs: cleanupTransactions).
    ///
    /// Returns nil if nothing changed.
    mutating func finish(_ version: UpdateVersion?) -> [UInt8]? {
        guard !changes.isEmpty || !changes.cut.isEmpty else { return nil }
        changes.deleted.sort()
        if collects { collectDeleted() }
        joinDeleted()
        for client in changes.clients {
            let first = max(place(BlockID(client: client, clock: clients[Int(client)].before)), 1)
            var place = clients[Int(client)].blocks.count - 1
            while place >= first {
                join(client, place)
                place -= 1
            }
        }
        for id in changes.cut {
            let place = place(id)
            if place + 1 < clients[Int(id.client)].blocks.count { join(id.client, place + 1) }
            if place > 0 { join(id.client, place) }
        }
        let update = changes.isEmpty ? nil : version.map { write($0) }
        for client in changes.clients { clients[Int(client)].before = -1 }
        changes.removeAll()
        return update
    }

    private mutating func collectDeleted() {
        for range in changes.deleted.ranges.reversed() {
            var place = place(BlockID(client: range.client, clock: range.clock))
            while place < clients[Int(range.client)].blocks.count {
                let index = clients[Int(range.client)].blocks[place], block = blocks[Int(index)]
                if block.id.clock >= range.end { break }
                if block.isDeleted, !block.isKept, block.kind != .collected { collect(index, isWhole: false) }
                place += 1
            }
        }
    }

    private mutating func joinDeleted() {
        for range in changes.deleted.ranges.reversed() {
            let last = place(BlockID(client: range.client, clock: range.end - 1))
            var place = min(clients[Int(range.client)].blocks.count - 1, last + 1)
            while place > 0, clients[Int(range.client)].clocks[place] >= range.clock {
                join(range.client, place)
                place -= 1
            }
        }
    }

    /// Writes what the transaction has changed.
    private func write(_ version: UpdateVersion) -> [UInt8] {
        var writer = UpdateWriter(version, contents)
        let changed = changes.clients.sorted { contents.clients[$0] > contents.clients[$1] }
        writer.clients(changed.count)
        for client in changed { write(client, from: clients[Int(client)].before, &writer) }
        writer.deletes(changes.deleted)
        return writer.finish()
    }

    /// Writes the blocks of a client from a clock on.
    private func write(_ client: Int32, from clock: Int32, _ writer: inout UpdateWriter) {
        let start = place(BlockID(client: client, clock: clock)), list = clients[Int(client)].blocks
        writer.client(client, blocks: list.count - start, clock: clock)
        var offset = clock - blocks[Int(list[start])].id.clock
        for index in list[start...] {
            writer.block(blocks[Int(index)], from: offset, parent: parent)
            offset = 0
        }
    }

    private func parent(_ block: Block) -> UpdateWriter.Parent {
        let branch = contents.branches[Int(block.parent)]
        return branch.block < 0 ? .root(branch.root) : .block(blocks[Int(branch.block)].id)
    }

    /// Writes everything that a document with the given state vector lacks, and all deletions.
    func write(since known: [UInt64: Int32], _ version: UpdateVersion) -> [UInt8] {
        var missing: [(client: Int32, clock: Int32)] = []
        for client in clients.indices where clients[client].next > 0 {
            let clock = known[contents.clients[Int32(client)]] ?? 0
            if clock < clients[client].next { missing.append((Int32(client), clock)) }
        }
        missing.sort { contents.clients[$0.client] > contents.clients[$1.client] }
        var writer = UpdateWriter(version, contents)
        writer.clients(missing.count)
        for (client, clock) in missing { write(client, from: clock, &writer) }
        writer.deletes(deleted)
        return writer.finish()
    }

    /// Everything that is deleted.
    var deleted: IDSet {
        var set = IDSet()
        for client in clients {
            for index in client.blocks where blocks[Int(index)].isDeleted { set.insert(blocks[Int(index)].id, blocks[Int(index)].length) }
        }
        return set
    }

    var stateVector: [(client: UInt64, clock: Int32)] {
        clients.indices.filter { clients[$0].next > 0 }.map { (contents.clients[Int32($0)], clients[$0].next) }
    }
}
