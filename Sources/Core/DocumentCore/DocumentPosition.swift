/// A unit of content: the client that made it, and the client's clock then.
public struct UnitID: Hashable, Sendable {
    /// The client.
    public var client: UInt64
    /// The clock, at most `Int32.max`.
    public var clock: Int

    /// Creates the identity of a unit.
    public init(client: UInt64, clock: Int) { (self.client, self.clock) = (client, clock) }
}

/// A place in a list or a text that moves along with its surroundings: a caret (Yjs: RelativePosition.js).
///
/// It holds on to the unit behind it or before it, or to the end or the start of its type.
public struct DocumentPosition: Hashable, Sendable {
    /// The unit, or nil for the end of the type (with ``side`` `after`) or its start (with `before`).
    public var unit: UnitID?
    /// The root that contains the place, or nil if a nested type does.
    public var root: String?
    /// The block of the nested type that contains the place.
    public var type: UnitID?
    /// What the place holds on to.
    public var side: Side

    /// What a place holds on to.
    public enum Side: Hashable, Sendable {
        /// The unit behind the place: text that is inserted there comes before the caret.
        case after
        /// The unit before the place: text that is inserted there comes behind the caret.
        case before
    }

    /// Reads the bytes of Yjs's `encodeRelativePosition`.
    ///
    /// - Throws: A ``DocumentError`` if they are no position.
    public init(_ bytes: [UInt8]) throws(DocumentError) {
        var reader = Lib0Reader(bytes)
        func unit() throws(DocumentError) -> UnitID { UnitID(client: try reader.uint(), clock: Int(try reader.clock())) }
        switch try reader.uint() {
        case 0: self.unit = try unit()
        case 1: root = try reader.string()
        case 2: type = try unit()
        default: throw DocumentError(.malformed, at: 0)
        }
        let isNegative = reader.isAtEnd ? false : try reader.int().isNegative
        side = isNegative ? .before : .after
    }

    /// Reads the JSON of Yjs's `relativePositionToJSON`, as editors put it into awareness.
    ///
    /// Nil if it is none.
    public init?(_ json: DocumentValue) {
        func unit(_ key: String) -> UnitID? {
            guard let value = json[key], case .number(let client)? = value["client"], case .number(let clock)? = value["clock"],
                let client = UInt64(exactly: client), let clock = Int32(exactly: clock), clock >= 0
            else { return nil }
            return UnitID(client: client, clock: Int(clock))
        }
        (self.unit, type) = (unit("item"), unit("type"))
        if case .text(let name)? = json["tname"] { root = name }
        side = .after
        if case .number(let association)? = json["assoc"], association < 0 { side = .before }
        guard self.unit != nil || root != nil || type != nil else { return nil }
    }

    init(unit: UnitID?, root: String?, type: UnitID?, side: Side) {
        (self.unit, self.root, self.type, self.side) = (unit, root, type, side)
    }

    /// The bytes that Yjs's `decodeRelativePosition` reads.
    public var bytes: [UInt8] {
        var writer = Lib0Writer()
        func write(_ number: UInt64, _ unit: UnitID) {
            writer.uint(number)
            writer.uint(unit.client)
            writer.uint(unit.clock)
        }
        if let unit {
            write(0, unit)
        } else if let root {
            writer.uint(1 as Int)
            writer.string(root)
        } else if let type {
            write(2, type)
        }
        writer.int(side == .before ? -1 : 0)
        return writer.bytes
    }

    /// The JSON that Yjs's `createRelativePositionFromJSON` reads.
    public var json: DocumentValue {
        func value(_ unit: UnitID) -> DocumentValue {
            .object([.init("client", .number(Double(unit.client))), .init("clock", .number(Double(unit.clock)))])
        }
        var entries: [DocumentValue.Entry] = []
        if let type { entries.append(.init("type", value(type))) }
        if let root { entries.append(.init("tname", .text(root))) }
        if let unit { entries.append(.init("item", value(unit))) }
        entries.append(.init("assoc", .number(side == .before ? -1 : 0)))
        return .object(entries)
    }
}

extension SharedDocument {
    /// The position of an index.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone or the index lies outside.
    public func position(
        at index: Int, in type: SharedType, holdingOnTo side: DocumentPosition.Side = .after
    ) throws(DocumentError) -> DocumentPosition {
        try check(type, upTo: index)
        let branch = store.contents.branches[Int(type.branch)]
        var position = DocumentPosition(
            unit: nil, root: branch.root < 0 ? nil : store.contents.name(branch.root),
            type: branch.block < 0 ? nil : unit(store.blocks[Int(branch.block)].id), side: side)
        if side == .before, index == 0 { return position }
        var left = Int32(side == .before ? index - 1 : index), block = branch.first
        while block >= 0 {
            let current = store.blocks[Int(block)]
            if left < current.visibleLength {
                position.unit = unit(BlockID(client: current.id.client, clock: current.id.clock + left))
                return position
            }
            left -= current.visibleLength
            if current.right < 0, side == .before { position.unit = unit(current.lastID) }
            block = current.right
        }
        return position
    }

    private func unit(_ id: BlockID) -> UnitID { UnitID(client: store.contents.clients[id.client], clock: Int(id.clock)) }

    /// Where a position is now.
    ///
    /// Nil if its unit has not come yet, or if its type is gone.
    ///
    /// A deleted unit counts as its place. A position follows what undo made again.
    public func index(of position: DocumentPosition) -> (type: SharedType, index: Int)? {
        if let unit = position.unit {
            guard let (index, offset) = latest(unit), store.blocks[Int(index)].parent >= 0, store.blocks[Int(index)].key < 0 else {
                return nil
            }
            let block = store.blocks[Int(index)], type = SharedType(branch: block.parent)
            guard has(type) else { return nil }
            var sum = block.visibleLength == 0 ? 0 : Int(offset) + (position.side == .before ? 1 : 0)
            var left = block.left
            while left >= 0 {
                sum += Int(store.blocks[Int(left)].visibleLength)
                left = store.blocks[Int(left)].left
            }
            return (type, sum)
        }
        let branch: Int32
        if let root = position.root {
            guard let known = store.existingRoot(root) else { return nil }
            branch = known
        } else {
            guard let type = position.type, let (index, _) = latest(type), store.blocks[Int(index)].kind == .type else { return nil }
            branch = store.blocks[Int(index)].content
        }
        let type = SharedType(branch: branch)
        return has(type) ? (type, position.side == .before ? 0 : count(type)) : nil
    }

    /// The block of a unit, or the block that undo made in its place, and the unit's offset there.
    private func latest(_ unit: UnitID) -> (block: Int32, offset: Int32)? {
        guard let client = store.contents.clients.number(of: unit.client), let clock = Int32(exactly: unit.clock), clock >= 0 else {
            return nil
        }
        var id = BlockID(client: client, clock: clock)
        while store.has(id) {
            let index = store.block(id), offset = id.clock - store.blocks[Int(index)].id.clock
            guard store.blocks[Int(index)].isRedone, let next = store.redone[index] else { return (index, offset) }
            id = BlockID(client: next.client, clock: next.clock + offset)
        }
        return nil
    }
}
