/// What came before something that it needs, and what it waits for.
///
/// Yjs keeps one missing clock for each client and can lose the condition of a block that waits; such blocks then wait for ever. Here each
/// client's queue names the one unit that its next block needs, and the arrival of this unit wakes it.
struct Pending: Sendable {
    /// The blocks of each client that wait, by ascending clock.
    private(set) var queues: [Int32: Queue] = [:]
    /// The clients that wait for a unit of a client.
    private var waiters: [Int32: Waiters] = [:]
    /// Deletions of values of keys of which the next value waits.
    private var held: [Held] = []
    /// Deletions of units that are not here yet.
    private var deletes = IDSet()

    struct Queue: Sendable {
        var blocks: ContiguousArray<Block>
        var head = 0
        /// The unit for which the queue waits, if ``Pending/waiters`` know it.
        var need: BlockID?
        var left: ArraySlice<Block> { blocks[head...] }
    }

    /// Clients by the clock for which they wait, the lowest first: a binary heap, because thousands may wait for one client.
    private struct Waiters: Sendable {
        private var heap: ContiguousArray<(clock: Int32, client: Int32)> = []

        var lowest: Int32? { heap.first?.clock }

        mutating func insert(_ client: Int32, clock: Int32) {
            var place = heap.count
            heap.append((clock, client))
            while place > 0, case let parent = (place - 1) / 2, heap[place].clock < heap[parent].clock {
                heap.swapAt(place, parent)
                place = parent
            }
        }

        mutating func removeLowest() -> Int32 {
            heap.swapAt(0, heap.count - 1)
            let client = heap.removeLast().client
            var place = 0
            while case var child = 2 * place + 1, child < heap.count {
                if child + 1 < heap.count, heap[child + 1].clock < heap[child].clock { child += 1 }
                guard heap[child].clock < heap[place].clock else { break }
                heap.swapAt(place, child)
                place = child
            }
            return client
        }
    }

    private struct Held: Sendable {
        /// Up to where blocks must be here, for each client.
        var needs: [(client: Int32, clock: Int32)]
        var deletes: IDSet
    }

    var isEmpty: Bool { queues.isEmpty && held.isEmpty && deletes.isEmpty }

    /// The number of blocks and ranges that wait.
    var count: Int {
        queues.values.reduce(0) { $0 + $1.left.count } + held.reduce(0) { $0 + $1.deletes.ranges.count } + deletes.ranges.count
    }

    /// Integrates an update as far as possible, and keeps the rest.
    mutating func apply(_ update: Update, to store: inout Store) {
        var work: [Int32] = []
        for run in update.runs {
            // The usual update follows what is here and waits for nothing.
            let first = queues[run.client] == nil ? integrate(update.blocks[run.blocks], &store, &work) : run.blocks.lowerBound
            if first < run.blocks.upperBound {
                enqueue(update.blocks[first..<run.blocks.upperBound], run.client, work: &work)
            }
        }
        while let client = work.popLast() { proceed(client, &store, &work) }

        if queues.isEmpty || update.deletes.isEmpty { delete(update.deletes, &store) } else { deleteUnlessReplaced(update, &store) }
        if !store.changes.clients.isEmpty { retryDeletes(&store) }
    }

    /// Integrates blocks until one has to wait.
    ///
    /// Returns its index.
    private mutating func integrate(_ blocks: ArraySlice<Block>, _ store: inout Store, _ work: inout [Int32]) -> Int {
        for (index, block) in zip(blocks.indices, blocks) {
            if block.kind == .skip || block.end <= store.next(block.id.client) { continue }
            if block.id.clock > store.next(block.id.client) || store.missing(block) != nil { return index }
            store.integrate(remote: block)
            wake(block.id.client, store, &work)
        }
        return blocks.endIndex
    }

    private mutating func enqueue(_ blocks: ArraySlice<Block>, _ client: Int32, work: inout [Int32]) {
        work.append(client)
        let more = blocks.lazy.filter { $0.kind != .skip }
        guard let queue = queues[client] else {
            if !more.isEmpty { queues[client] = Queue(blocks: ContiguousArray(more)) }
            return
        }
        // The longest comes first of those that begin alike, so that the others are known when their turn comes.
        let sorted = (Array(queue.left) + more).sorted { ($0.id.clock, $1.end) < ($1.id.clock, $0.end) }
        var kept: ContiguousArray<Block> = []
        for block in sorted where kept.last.map({ block.end > $0.end }) ?? true { kept.append(block) }
        queues[client] = Queue(blocks: kept, need: queue.need)
    }

    /// Integrates a client's queue until its next block has to wait.
    private mutating func proceed(_ client: Int32, _ store: inout Store, _ work: inout [Int32]) {
        guard var queue = queues.removeValue(forKey: client) else { return }
        while queue.head < queue.blocks.count {
            let block = queue.blocks[queue.head]
            if block.end > store.next(client) {
                let need =
                    block.id.clock > store.next(client)
                    ? BlockID(client: client, clock: block.id.clock - 1) : store.missing(block)
                if let need {
                    // The same update may come any number of times.
                    if queue.need == need { break }
                    queue.need = need
                    waiters[need.client, default: Waiters()].insert(client, clock: need.clock)
                    break
                }
                store.integrate(remote: block)
                wake(client, store, &work)
            }
            queue.head += 1
        }
        if queue.head < queue.blocks.count { queues[client] = queue }
    }

    /// Puts the clients to work whose unit is here now.
    private mutating func wake(_ client: Int32, _ store: Store, _ work: inout [Int32]) {
        guard !waiters.isEmpty else { return }
        while let clock = waiters[client]?.lowest, clock < store.next(client) {
            // A queue that found another need in the meantime looks again in vain.
            if let waiting = waiters[client]?.removeLowest() { work.append(waiting) }
            if waiters[client]?.lowest == nil { waiters[client] = nil }
        }
    }

    /// Whether a block waits already.
    func holds(_ block: Block) -> Bool {
        guard let queue = queues[block.id.client] else { return false }
        var (low, high) = (queue.head, queue.blocks.count)
        while low < high {
            let middle = (low + high) / 2
            if queue.blocks[middle].id.clock <= block.id.clock { low = middle + 1 } else { high = middle }
        }
        return low > queue.head && queue.blocks[low - 1].end >= block.end
    }

    // MARK: - Deletions

    /// Deletes at once what no waiting block replaces, and holds the rest.
    ///
    /// A new value of a key deletes the one before it. While the new one waits, the old one stays, or the key would be gone meanwhile.
    private mutating func deleteUnlessReplaced(_ update: Update, _ store: inout Store) {
        var needs: [(client: Int32, clock: Int32)] = [], replaced: [BlockID] = []
        for run in update.runs where queues[run.client] != nil {
            for block in update.blocks[run.blocks]
            where block.end > store.next(run.client) && !block.origin.isNone && store.has(block.origin) {
                if store.blocks[Int(store.block(block.origin))].key >= 0 { replaced.append(block.origin) }
            }
            let end = update.blocks[run.blocks.upperBound - 1].end
            if end > store.next(run.client) { needs.append((run.client, end)) }
        }
        replaced.sort { ($0.client, $0.clock) < ($1.client, $1.clock) }
        var all = update.deletes, now = IDSet(), later = IDSet(), next = replaced.startIndex
        all.sort()
        for range in all.ranges {
            var clock = range.clock
            while next < replaced.endIndex, (replaced[next].client, replaced[next].clock) < (range.client, range.end) {
                let id = replaced[next]
                next += 1
                guard id.client == range.client, id.clock >= clock else { continue }
                if id.clock > clock { now.insert(BlockID(client: id.client, clock: clock), id.clock - clock) }
                later.insert(id, 1)
                clock = id.clock + 1
            }
            if clock < range.end { now.insert(BlockID(client: range.client, clock: clock), range.end - clock) }
        }
        if !later.isEmpty { held.append(Held(needs: needs, deletes: later)) }
        delete(now, &store)
    }

    /// Deletes what is here, and keeps the rest.
    private mutating func delete(_ set: IDSet, _ store: inout Store) {
        for range in set.ranges {
            let known = min(max(store.next(range.client), range.clock), range.end)
            if known > range.clock { store.delete(IDSet.Range(client: range.client, clock: range.clock, length: known - range.clock)) }
            if known < range.end { deletes.insert(BlockID(client: range.client, clock: known), range.end - known) }
        }
        deletes.sort()
    }

    private mutating func retryDeletes(_ store: inout Store) {
        if !held.isEmpty {
            let ready = held.filter { $0.needs.allSatisfy { store.next($0.client) >= $0.clock } }
            held.removeAll { $0.needs.allSatisfy { store.next($0.client) >= $0.clock } }
            for held in ready { delete(held.deletes, &store) }
        }
        guard !deletes.isEmpty, deletes.ranges.contains(where: { $0.clock < store.next($0.client) }) else { return }
        let all = deletes
        deletes.removeAll()
        delete(all, &store)
    }

    /// What waits, as an update: others may be able to use it.
    func update(_ contents: Contents) -> Unbound {
        var rest = Unbound(contents: contents)
        for (client, queue) in queues {
            let start = rest.update.blocks.count
            rest.update.blocks += queue.left
            rest.update.runs.append(Update.Run(client: client, blocks: start..<rest.update.blocks.count))
        }
        rest.update.deletes = deletes
        for held in held { rest.update.deletes.formUnion(held.deletes) }
        rest.merge()
        return rest
    }
}

extension Store {
    /// The unit of another client that a block needs and that is not here, or nil.
    func missing(_ block: Block) -> BlockID? {
        if !block.origin.isNone, block.origin.client != block.id.client, !has(block.origin) { return block.origin }
        if !block.rightOrigin.isNone, block.rightOrigin.client != block.id.client, !has(block.rightOrigin) { return block.rightOrigin }
        if block.isParentID, block.parentID.client != block.id.client, !has(block.parentID) { return block.parentID }
        return nil
    }
}
