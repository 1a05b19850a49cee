/// An update that was read, with its contents elsewhere: blocks of clients, and what was deleted.
struct Update {
    /// The blocks of one client, by ascending clock.
    ///
    /// Gaps are blocks of the kind `skip`.
    struct Run {
        var client: Int32
        var blocks: Range<Int>
    }

    var blocks: ContiguousArray<Block> = []
    var runs: ContiguousArray<Run> = []
    var deletes = IDSet()
}

/// Work on updates without a document: a server or a store merges and compares them in their encoded form.
public enum DocumentUpdate {
    /// Merges updates into one that has the same effect, in any order and however often.
    ///
    /// The result may wait for blocks that none of the updates has; gaps stay gaps.
    ///
    /// - Throws: A ``DocumentError`` if one of the updates cannot be read.
    public static func merge(_ updates: [[UInt8]], _ version: UpdateVersion = .v1) throws(DocumentError) -> [UInt8] {
        var merged = Unbound()
        for update in updates { try merged.read(update, version) }
        merged.merge()
        return merged.write(version)
    }

    /// Returns the part of an update that a document with this state vector lacks, and all its deletions.
    ///
    /// - Throws: A ``DocumentError`` if the update or the state vector cannot be read.
    public static func difference(_ update: [UInt8], since stateVector: [UInt8], _ version: UpdateVersion = .v1) throws(DocumentError)
        -> [UInt8]
    {
        let known = try self.stateVector(stateVector)
        var difference = Unbound()
        try difference.read(update, version)
        difference.drop(known)
        return difference.write(version)
    }

    /// Writes an update in another version.
    ///
    /// - Throws: A ``DocumentError`` if the update cannot be read.
    public static func convert(_ update: [UInt8], from old: UpdateVersion, to new: UpdateVersion) throws(DocumentError) -> [UInt8] {
        var converted = Unbound()
        try converted.read(update, old)
        return converted.write(new)
    }

    /// Returns the state vector of an update: up to where it is complete for each client from clock 0 on.
    ///
    /// - Throws: A ``DocumentError`` if the update cannot be read.
    public static func stateVector(of update: [UInt8], _ version: UpdateVersion = .v1) throws(DocumentError) -> [UInt8] {
        var read = Unbound()
        try read.read(update, version)
        return read.stateVector()
    }

    /// Reads a state vector: the next clock of each client.
    ///
    /// - Throws: A ``DocumentError`` if it cannot be read.
    static func stateVector(_ bytes: [UInt8]) throws(DocumentError) -> [UInt64: Int32] {
        var reader = try UpdateReader(bytes, .v1)
        return try reader.stateVector()
    }
}

/// Updates with contents of their own, outside of a document.
struct Unbound {
    var contents = Contents()
    var update = Update()

    mutating func read(_ bytes: [UInt8], _ version: UpdateVersion) throws(DocumentError) {
        var reader = try UpdateReader(bytes, version)
        let read = try reader.read(into: &contents)
        let base = update.blocks.count
        update.blocks += read.blocks
        for run in read.runs {
            update.runs.append(Update.Run(client: run.client, blocks: run.blocks.lowerBound + base..<run.blocks.upperBound + base))
        }
        update.deletes.formUnion(read.deletes)
    }

    /// Puts the blocks of each client in order, once each, with a skip in each gap.
    ///
    /// All blocks of a client are sorted at once: a merge that looks for the next of many updates at each step takes quadratic time.
    mutating func merge() {
        var byClient: [Int32: ContiguousArray<Block>] = [:]
        for run in update.runs { byClient[run.client, default: []] += update.blocks[run.blocks].lazy.filter { $0.kind != .skip } }
        var merged = Update()
        merged.deletes = update.deletes
        merged.deletes.sort()
        for (client, blocks) in sorted(byClient) {
            let start = merged.blocks.count
            var end: Int32 = 0
            for block in blocks.sorted(by: { ($0.id.clock, $1.end) < ($1.id.clock, $0.end) })
            where block.end > end || merged.blocks.count == start {
                if merged.blocks.count == start { end = block.id.clock }
                if block.id.clock > end {
                    merged.blocks.append(Block(id: BlockID(client: client, clock: end), length: block.id.clock - end, kind: .skip))
                    end = block.id.clock
                }
                let cut = self.cut(block, from: end - block.id.clock)
                if merged.blocks.count == start || !join(&merged.blocks[merged.blocks.count - 1], cut) { merged.blocks.append(cut) }
                end = block.end
            }
            if merged.blocks.count > start { merged.runs.append(Update.Run(client: client, blocks: start..<merged.blocks.count)) }
        }
        update = merged
    }

    /// Two neighbours become one if no left neighbour in the list is known (Yjs: mergeUpdates): only what is deleted or collected does.
    private func join(_ left: inout Block, _ right: Block) -> Bool {
        guard left.kind == .collected, right.kind == .collected else { return false }
        left.length += right.length
        return true
    }

    /// Leaves out what a document with this state has.
    mutating func drop(_ known: [UInt64: Int32]) {
        var kept = Update()
        kept.deletes = update.deletes
        for run in update.runs {
            let start = kept.blocks.count, next = known[contents.clients[run.client]] ?? 0
            for block in update.blocks[run.blocks] {
                // The first block is no gap.
                if kept.blocks.count == start, block.end <= next || block.kind == .skip { continue }
                kept.blocks.append(cut(block, from: kept.blocks.count == start ? max(next - block.id.clock, 0) : 0))
            }
            if kept.blocks.count > start { kept.runs.append(Update.Run(client: run.client, blocks: start..<kept.blocks.count)) }
        }
        update = kept
    }

    private func cut(_ block: Block, from offset: Int32) -> Block {
        guard offset > 0 else { return block }
        var cut = block
        cut.id.clock += offset
        cut.length -= offset
        if block.kind == .collected || block.kind == .skip { return cut }
        cut.origin = BlockID(client: block.id.client, clock: cut.id.clock - 1)
        if block.content >= 0 { cut.content += offset }
        return cut
    }

    private func sorted(_ byClient: [Int32: ContiguousArray<Block>]) -> [(key: Int32, value: ContiguousArray<Block>)] {
        byClient.sorted { contents.clients[$0.key] > contents.clients[$1.key] }
    }

    func write(_ version: UpdateVersion) -> [UInt8] {
        var writer = UpdateWriter(version)
        writer.clients(update.runs.count)
        for run in update.runs {
            writer.client(run.client, blocks: run.blocks.count, clock: update.blocks[run.blocks.lowerBound].id.clock, contents)
            for block in update.blocks[run.blocks] {
                let parent: UpdateWriter.Parent? =
                    block.isParentRoot ? .root(block.parent) : block.isParentID ? .block(block.parentID) : nil
                writer.block(block, parent: parent, contents)
            }
        }
        writer.deletes(update.deletes, contents)
        return writer.finish()
    }

    func stateVector() -> [UInt8] {
        var vector: [(client: UInt64, clock: Int32)] = []
        for run in update.runs {
            var clock: Int32 = 0
            for block in update.blocks[run.blocks] where block.kind != .skip && block.id.clock == clock { clock = block.end }
            if clock > 0 { vector.append((contents.clients[run.client], clock)) }
        }
        var writer = UpdateWriter(.v1)
        writer.stateVector(vector)
        return writer.finish()
    }
}
