/// The blocks of a document, and the algorithm that puts them in order (Yjs: StructStore.js, Item.js).
///
/// Every copy of a document that has the same blocks has them in the same order, whatever the order in which they came.
struct Store: Sendable {
    var contents = Contents()
    var blocks: ContiguousArray<Block> = []
    /// The first of the places in ``blocks`` that are free.
    ///
    /// Each names the next in ``Block/right``.
    private var free: Int32 = -1
    /// The blocks of each client, by the client's number in ``Contents/clients``.
    var clients: ContiguousArray<ClockIndex> = []
    /// The branch of each root, by its name.
    private var roots: [Int32: Int32] = [:]
    /// Which block an undo made in place of a deleted one (Yjs: Item.redone).
    var redone: [Int32: BlockID] = [:]
    /// Whether the content of deleted blocks is dropped.
    var collects = true
    /// What has changed since the last ``finish()``.
    var changes = Changes()
    /// What the last transaction changed, if ``Changes/isObserved``.
    var lastChanges: [DocumentChange] = []
    private var scan = ConflictScan()
    var markers = SearchMarkers()
    /// The size of the pools at which ``compactIfNeeded()`` looks for what is unused.
    var compactionSize = 1 << 16

    // MARK: - Finding blocks

    func next(_ client: Int32) -> Int32 { Int(client) < clients.count ? clients[Int(client)].next : 0 }

    func has(_ id: BlockID) -> Bool { id.clock < next(id.client) }

    /// The place of the block with this unit among the client's blocks.
    ///
    /// The unit must exist.
    func place(_ id: BlockID) -> ClockIndex.Place { clients[Int(id.client)].place(id.clock) }

    func block(_ id: BlockID) -> Int32 { clients[Int(id.client)][place(id)] }

    /// The block that begins with this unit.
    ///
    /// Cuts one that begins before it.
    mutating func blockStarting(with id: BlockID) -> Int32 {
        let place = place(id), index = clients[Int(id.client)][place]
        let offset = id.clock - blocks[Int(index)].id.clock
        return offset == 0 || blocks[Int(index)].kind == .collected ? index : split(index, at: offset, place: place)
    }

    /// The block that ends with this unit.
    ///
    /// Cuts one that ends after it.
    mutating func blockEnding(with id: BlockID) -> Int32 {
        let place = place(id), index = clients[Int(id.client)][place]
        let length = id.clock - blocks[Int(index)].id.clock + 1
        if length < blocks[Int(index)].length, blocks[Int(index)].kind != .collected { split(index, at: length, place: place) }
        return index
    }

    // MARK: - Adding and cutting

    private mutating func store(_ block: Block) -> Int32 {
        guard free >= 0 else {
            blocks.append(block)
            return Int32(blocks.count - 1)
        }
        let index = free
        free = blocks[Int(index)].right
        blocks[Int(index)] = block
        return index
    }

    private mutating func append(_ block: Block) -> Int32 {
        let index = store(block), client = Int(block.id.client)
        while clients.count <= client { clients.append(ClockIndex()) }
        if clients[client].before < 0 {
            clients[client].before = clients[client].next
            changes.clients.append(block.id.client)
        }
        clients[client].append(index, clock: block.id.clock)
        clients[client].next = block.end
        return index
    }

    /// Cuts a block, and returns the new one, which begins at `offset`.
    @discardableResult private mutating func split(_ index: Int32, at offset: Int32, place: ClockIndex.Place) -> Int32 {
        var rest = blocks[Int(index)]
        if changes.isObserved, contents.isPair(rest, cutAt: offset) {
            changes.touch(rest.parent, rest.key)
            for clock in offset - 1...offset { changes.replaced.insert(BlockID(client: rest.id.client, clock: rest.id.clock + clock)) }
        }
        let content = contents.split(rest, at: offset)
        rest.id.clock += offset
        rest.length -= offset
        rest.content = content
        rest.hasMarker = false
        rest.origin = BlockID(client: rest.id.client, clock: rest.id.clock - 1)
        rest.left = index
        let new = store(rest)
        blocks[Int(index)].length = offset
        blocks[Int(index)].right = new
        if rest.right >= 0 {
            blocks[Int(rest.right)].left = new
        } else if rest.key >= 0 {
            contents.branches[Int(rest.parent)].map[rest.key] = new
        }
        if rest.isRedone, let target = redone[index] { redone[new] = BlockID(client: target.client, clock: target.clock + offset) }
        clients[Int(rest.id.client)].insert(new, clock: rest.id.clock, after: place)
        changes.cut.append(rest.id)
        return new
    }

    /// The branch of a root.
    ///
    /// Makes it if the document has none of this name.
    mutating func root(_ name: Int32) -> Int32 {
        if let known = roots[name] { return known }
        var branch = Branch()
        branch.root = name
        contents.branches.append(branch)
        roots[name] = Int32(contents.branches.count - 1)
        return Int32(contents.branches.count - 1)
    }

    func existingRoot(_ name: String) -> Int32? { contents.knownNumber(ofName: name).flatMap { roots[$0] } }

    var rootNames: [String] { roots.keys.sorted().map { contents.name($0) } }

    // MARK: - Integrating

    /// Puts a block that came from elsewhere to its place.
    ///
    /// All that it refers to must be here, and it must follow the client's blocks.
    mutating func integrate(remote new: Block) {
        var block = new, offset: Int32 = 0
        if block.id.clock < next(block.id.client) { offset = next(block.id.client) - block.id.clock }
        if block.kind == .collected { return collect(block, offset) }
        let parent = resolve(&block)
        if offset > 0 {
            block.left = blockEnding(with: BlockID(client: block.id.client, clock: block.id.clock + offset - 1))
            block.content = contents.split(block, at: offset)
            block.id.clock += offset
            block.length -= offset
            block.origin = BlockID(client: block.id.client, clock: block.id.clock - 1)
            // Only a hostile update continues a block in another list. A collected block has no list.
            let left = blocks[Int(block.left)]
            guard left.parent == parent, left.key == block.key else { return collect(block, 0) }
        }
        guard parent >= 0 else { return collect(block, 0) }
        block.parent = parent
        integrate(block)
    }

    private mutating func collect(_ block: Block, _ offset: Int32) {
        var rest = Block(
            id: BlockID(client: block.id.client, clock: block.id.clock + offset), length: block.length - offset, kind: .collected)
        rest.isDeleted = true
        _ = append(rest)
    }

    /// Finds the neighbours and the parent of a block.
    ///
    /// Returns −1 if it has no place, because its parent was deleted for good.
    private mutating func resolve(_ block: inout Block) -> Int32 {
        let parentID = block.isParentID ? block.parentID : nil, root = block.isParentRoot ? block.parent : -1
        (block.left, block.right, block.parent) = (-1, -1, -1)
        block.isParentID = false
        block.isParentRoot = false
        // The right one first: if a hostile update has both within one block, the left one still ends where it should.
        if !block.rightOrigin.isNone { block.right = blockStarting(with: block.rightOrigin) }
        if !block.origin.isNone { block.left = blockEnding(with: block.origin) }
        if block.left >= 0, blocks[Int(block.left)].kind == .collected { return -1 }
        if block.right >= 0, blocks[Int(block.right)].kind == .collected { return -1 }
        if root >= 0 { return self.root(root) }
        if let parentID {
            let holder = blocks[Int(self.block(parentID))]
            return holder.kind == .type ? holder.content : -1
        }
        var parent: Int32 = -1
        for neighbour in [block.left, block.right] where neighbour >= 0 {
            let other = blocks[Int(neighbour)]
            // Only a hostile update names neighbours from two lists.
            if parent >= 0, other.parent != parent || other.key != block.key { return -1 }
            (parent, block.key) = (other.parent, other.key)
        }
        return parent
    }

    /// Puts a block between its neighbours, or where the conflict rule says if others came between them (YATA; Yjs: Item.integrate).
    @discardableResult mutating func integrate(_ new: Block) -> Int32 {
        var block = new
        // Found only where it is needed: a key may have a long history.
        let first = block.left < 0 ? first(of: block.parent, block.key) : -1
        let next = block.left >= 0 ? blocks[Int(block.left)].right : first
        if next != block.right { block.left = place(of: block, from: next) }
        block.right = block.left >= 0 ? blocks[Int(block.left)].right : first
        let index = append(block), parent = Int(block.parent)
        if block.left >= 0 { blocks[Int(block.left)].right = index } else if block.key < 0 { contents.branches[parent].first = index }
        if block.right >= 0 {
            blocks[Int(block.right)].left = index
        } else if block.key >= 0 {
            contents.branches[parent].map[block.key] = index
            // The new value of the key replaces the one before.
            if block.left >= 0 { delete(block.left) }
        }
        if block.key < 0 { appear(index) }
        if block.kind == .deleted { changes.deleted.insert(block.id, block.length) }
        if block.kind == .type { contents.branches[Int(block.content)].block = index }
        changes.touch(block.parent, block.key)
        let holder = contents.branches[parent].block
        if (holder >= 0 && blocks[Int(holder)].isDeleted) || (block.key >= 0 && block.right >= 0) { delete(index) }
        return index
    }

    /// The first block of a list, or of a key's list.
    private func first(of parent: Int32, _ key: Int32) -> Int32 {
        if key < 0 { return contents.branches[Int(parent)].first }
        var first = contents.branches[Int(parent)].map[key]
        while first >= 0, blocks[Int(first)].left >= 0 { first = blocks[Int(first)].left }
        return first
    }

    /// The left neighbour of a block that is in conflict with others between its two origins.
    private mutating func place(of block: Block, from start: Int32) -> Int32 {
        var (left, other) = (block.left, start)
        scan.begin(blocks.count)
        while other >= 0, other != block.right {
            scan.pass(other)
            let o = blocks[Int(other)]
            if o.origin == block.origin {
                if contents.clients[o.id.client] < contents.clients[block.id.client] {
                    left = other
                    scan.settle()
                } else if o.rightOrigin == block.rightOrigin {
                    break
                }
            } else if !o.origin.isNone, case let origin = originBlock(o), scan.hasPassed(origin) {
                if !scan.isInConflict(origin) {
                    left = other
                    scan.settle()
                }
            } else {
                break
            }
            other = o.right
        }
        return left
    }

    /// The block with a block's origin: in most cases its left neighbour, which needs no search.
    private func originBlock(_ block: Block) -> Int32 {
        if block.left >= 0, case let left = blocks[Int(block.left)], left.id.client == block.origin.client,
            left.id.clock <= block.origin.clock, block.origin.clock < left.end
        {
            return block.left
        }
        return self.block(block.origin)
    }

    // MARK: - Deleting

    mutating func delete(_ index: Int32) {
        guard !blocks[Int(index)].isDeleted else { return }
        let block = blocks[Int(index)]
        if block.key < 0 { disappear(index) }
        blocks[Int(index)].isDeleted = true
        changes.deleted.insert(block.id, block.length)
        changes.touch(block.parent, block.key)
        if block.kind == .type { deleteChildren(of: block.content) }
    }

    /// Counts a block that a list shows from now on.
    private mutating func appear(_ index: Int32) {
        let block = blocks[Int(index)], branch = Int(block.parent)
        contents.branches[branch].length += block.visibleLength
        if block.kind == .mark, !block.isDeleted {
            contents.branches[branch].marks += 1
            if markers.branch == block.parent { dropMarkers(behind: index) }
        } else if markers.branch == block.parent {
            shiftMarkers(at: block.left, by: block.visibleLength)
        }
    }

    /// Counts off a block that is about to be deleted.
    private mutating func disappear(_ index: Int32) {
        let block = blocks[Int(index)], branch = Int(block.parent)
        contents.branches[branch].length -= block.visibleLength
        if block.kind == .mark {
            contents.branches[branch].marks -= 1
            if markers.branch == block.parent { dropMarkers(behind: index) }
        } else if markers.branch == block.parent {
            shiftMarkers(at: index, by: -block.visibleLength)
        }
    }

    private mutating func deleteChildren(of branch: Int32) {
        // A stack instead of recursion: the depth of nested types is the peer's choice.
        var pending = [branch]
        while let branch = pending.popLast() {
            var child = contents.branches[Int(branch)].first
            while child >= 0 {
                deleteChild(child, &pending)
                child = blocks[Int(child)].right
            }
            for key in contents.branches[Int(branch)].map.keys { deleteChild(contents.branches[Int(branch)].map[key], &pending) }
        }
    }

    private mutating func deleteChild(_ index: Int32, _ pending: inout [Int32]) {
        let block = blocks[Int(index)]
        guard !block.isDeleted else {
            // It was deleted before. It may join its neighbours now, because the end of the transaction collects all of them.
            changes.cut.append(block.id)
            return
        }
        if block.key < 0 { disappear(index) }
        blocks[Int(index)].isDeleted = true
        changes.deleted.insert(block.id, block.length)
        if block.kind == .type { pending.append(block.content) }
    }

    /// Deletes units that are here.
    ///
    /// Units that are deleted already stay so.
    mutating func delete(_ range: IDSet.Range) {
        var clock = range.clock
        while clock < range.end {
            let id = BlockID(client: range.client, clock: clock)
            var index = block(id)
            if !blocks[Int(index)].isDeleted {
                index = blockStarting(with: id)
                if blocks[Int(index)].end > range.end { _ = blockEnding(with: BlockID(client: range.client, clock: range.end - 1)) }
                delete(index)
            }
            clock = blocks[Int(index)].end
        }
    }

    // MARK: - Joining and collecting

    /// Joins the block at `place` among the client's blocks with the one before it, if they can be one.
    mutating func join(_ client: Int32, _ place: ClockIndex.Place) {
        guard let before = clients[Int(client)].place(before: place) else { return }
        let leftIndex = clients[Int(client)][before], rightIndex = clients[Int(client)][place]
        let left = blocks[Int(leftIndex)], right = blocks[Int(rightIndex)]
        guard left.kind == right.kind, left.isDeleted == right.isDeleted else { return }
        if left.kind != .collected {
            guard left.kind.joins, right.origin == left.lastID, left.right == rightIndex, left.rightOrigin == right.rightOrigin,
                !left.isRedone, !right.isRedone, contents.canJoin(left, right)
            else { return }
            if right.isKept { blocks[Int(leftIndex)].isKept = true }
            blocks[Int(leftIndex)].content = contents.join(left, right)
            blocks[Int(leftIndex)].right = right.right
            if right.right >= 0 {
                blocks[Int(right.right)].left = leftIndex
            } else if right.key >= 0 {
                contents.branches[Int(right.parent)].map[right.key] = leftIndex
            }
            if right.hasMarker, let number = markers.number(of: rightIndex) { markers.remove(number) }
        }
        blocks[Int(leftIndex)].length += right.length
        clients[Int(client)].remove(at: place)
        blocks[Int(rightIndex)].right = free
        free = rightIndex
    }

    /// Drops the content of a deleted block.
    ///
    /// With `isWhole`, nothing but its length stays, because its parent goes too.
    mutating func collect(_ index: Int32, isWhole: Bool) {
        var pending = [(index, isWhole)]
        while let (index, isWhole) = pending.popLast() {
            let block = blocks[Int(index)]
            if block.kind == .type {
                let branch = Int(block.content)
                var child = contents.branches[branch].first
                while child >= 0 {
                    pending.append((child, true))
                    child = blocks[Int(child)].right
                }
                for key in contents.branches[branch].map.keys {
                    var child = contents.branches[branch].map[key]
                    while child >= 0 {
                        pending.append((child, true))
                        child = blocks[Int(child)].left
                    }
                }
                contents.branches[branch].first = -1
                contents.branches[branch].map = Branch.KeyTable()
            }
            blocks[Int(index)].content = -1
            if isWhole {
                var rest = Block(id: block.id, length: block.length, kind: .collected)
                rest.isDeleted = true
                blocks[Int(index)] = rest
                redone[index] = nil
            } else {
                blocks[Int(index)].kind = .deleted
            }
        }
    }
}

/// What a transaction has changed so far.
struct Changes: Sendable {
    /// The clients that got blocks (``ClockIndex/before``).
    var clients: [Int32] = []
    var deleted = IDSet()
    /// Blocks that came from cutting, or were deleted before their parent: they may join their neighbours at the end.
    var cut: [BlockID] = []
    /// The lists and keys that changed.
    private(set) var touched: Set<Place> = []
    /// Surrogates that were replaced because their pair was cut.
    var replaced: Set<BlockID> = []
    /// Whether ``touched`` and ``replaced`` are kept.
    var isObserved = false

    struct Place: Hashable, Sendable {
        var branch: Int32
        var key: Int32
    }

    mutating func touch(_ branch: Int32, _ key: Int32) {
        if isObserved { touched.insert(Place(branch: branch, key: key)) }
    }

    var isEmpty: Bool { clients.isEmpty && deleted.isEmpty }

    mutating func removeAll() {
        clients.removeAll(keepingCapacity: true)
        deleted.removeAll()
        cut.removeAll(keepingCapacity: true)
        touched.removeAll(keepingCapacity: true)
        replaced.removeAll(keepingCapacity: true)
    }
}

/// The blocks that a scan for conflicts has passed, and those of them that are in conflict with the new block.
///
/// Numbers instead of sets: a scan may pass many blocks, and a new number empties both.
private struct ConflictScan: Sendable {
    private var passed: ContiguousArray<UInt32> = []
    private var conflicting: ContiguousArray<UInt32> = []
    private var scan: UInt32 = 0
    private var conflict: UInt32 = 0

    mutating func begin(_ count: Int) {
        if scan == .max || conflict > .max / 2 { self = ConflictScan() }
        let more = max(0, count - passed.count)
        passed.append(contentsOf: repeatElement(0, count: more))
        conflicting.append(contentsOf: repeatElement(0, count: more))
        scan += 1
        conflict += 1
    }

    mutating func pass(_ block: Int32) {
        passed[Int(block)] = scan
        conflicting[Int(block)] = conflict
    }

    /// The blocks passed so far stand before the new one.
    mutating func settle() { conflict += 1 }

    func hasPassed(_ block: Int32) -> Bool { passed[Int(block)] == scan }
    func isInConflict(_ block: Int32) -> Bool { conflicting[Int(block)] == conflict }
}
