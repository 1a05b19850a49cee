/// Writes an update of either version (Yjs: UpdateEncoder.js).
struct UpdateWriter {
    private(set) var rest = Lib0Writer()
    private var columns: Columns?
    /// Whether delete sets have distances instead of clocks (Yjs: DSEncoderV2).
    private let hasDistances: Bool

    /// A class, so that the writer of version 1 stays small.
    private final class Columns {
        var keys = DifferenceRunWriter()
        var clients = NumberRunWriter()
        var lefts = DifferenceRunWriter()
        var rights = DifferenceRunWriter()
        var infos = ByteRunWriter()
        var strings = StringRunWriter()
        var parents = ByteRunWriter()
        var types = NumberRunWriter()
        var lengths = NumberRunWriter()
        var nextKey: Int64 = 0
    }

    /// The parent of a block that has neither origin.
    enum Parent {
        case root(Int32)
        case block(BlockID)
    }

    /// Writes a snapshot, which has no columns.
    init(snapshot version: UpdateVersion) { hasDistances = version == .v2 }

    init(_ version: UpdateVersion) {
        hasDistances = version == .v2
        if version == .v2 { columns = Columns() }
    }

    consuming func finish() -> [UInt8] {
        guard let columns else { return rest.bytes }
        var out = Lib0Writer()
        out.uint(0)
        out.byteString(columns.keys.finish())
        out.byteString(columns.clients.finish())
        out.byteString(columns.lefts.finish())
        out.byteString(columns.rights.finish())
        out.byteString(columns.infos.bytes)
        out.byteString(columns.strings.finish())
        out.byteString(columns.parents.bytes)
        out.byteString(columns.types.finish())
        out.byteString(columns.lengths.finish())
        out.bytes += rest.bytes
        return out.bytes
    }

    // MARK: - Parts of an update

    mutating func clients(_ count: Int) { rest.uint(count) }

    /// Writes what stands before the blocks of a client.
    mutating func client(_ client: Int32, blocks: Int, clock: Int32, _ contents: Contents) {
        rest.uint(blocks)
        write(client: client, contents)
        rest.uint(clock)
    }

    /// Writes a block from `offset` on.
    mutating func block(_ block: Block, from offset: Int32 = 0, parent: Parent?, _ contents: Contents) {
        switch block.kind {
        case .collected:
            info(0)
            write(length: block.length - offset)
            return
        case .skip:
            info(10)
            rest.uint(block.length - offset)
            return
        default: break
        }
        let origin = offset > 0 ? BlockID(client: block.id.client, clock: block.id.clock + offset - 1) : block.origin
        info(
            block.kind.rawValue | (origin.isNone ? 0 : 0x80) | (block.rightOrigin.isNone ? 0 : 0x40) | (block.key < 0 ? 0 : 0x20))
        if !origin.isNone { write(reference: origin, isLeft: true, contents) }
        if !block.rightOrigin.isNone { write(reference: block.rightOrigin, isLeft: false, contents) }
        if origin.isNone, block.rightOrigin.isNone, let parent {
            switch parent {
            case .root(let name):
                if columns == nil { rest.uint(1) } else { columns!.parents.write(1) }
                write(string: contents.name(name))
            case .block(let id):
                if columns == nil { rest.uint(0) } else { columns!.parents.write(0) }
                write(reference: id, isLeft: true, contents)
            }
            if block.key >= 0 { write(string: contents.name(block.key)) }
        }
        content(block, offset, contents)
    }

    /// Writes a delete set.
    ///
    /// Clients stand in descending order, as Yjs 13.6 writes them; older versions keep the order of deletion.
    mutating func deletes(_ set: IDSet, _ contents: Contents) {
        var set = set
        set.sort()
        var starts: [(client: UInt64, ranges: Range<Int>)] = []
        var start = 0
        for index in set.ranges.indices where index + 1 == set.ranges.count || set.ranges[index + 1].client != set.ranges[index].client {
            starts.append((contents.clients[set.ranges[index].client], start..<index + 1))
            start = index + 1
        }
        starts.sort { $0.client > $1.client }
        rest.uint(starts.count)
        for (client, indices) in starts {
            rest.uint(client)
            rest.uint(indices.count)
            var place: Int32 = 0
            for range in set.ranges[indices] {
                rest.uint(range.clock - place)
                rest.uint(hasDistances ? range.length - 1 : range.length)
                if hasDistances { place = range.end }
            }
        }
    }

    /// Writes a state vector, clients in descending order.
    mutating func stateVector(_ vector: [(client: UInt64, clock: Int32)]) {
        rest.uint(vector.count)
        for (client, clock) in vector.sorted(by: { $0.client > $1.client }) {
            rest.uint(client)
            rest.uint(clock)
        }
    }

    // MARK: - Fields

    private mutating func content(_ block: Block, _ offset: Int32, _ contents: Contents) {
        let first = Int(block.content + offset), end = Int(block.content + block.length)
        switch block.kind {
        case .deleted: write(length: block.length - offset)
        case .text:
            if columns == nil {
                rest.string(contents.units.elements[first..<end])
            } else {
                columns!.strings.write(contents.units.elements[first..<end])
            }
        case .json:
            write(length: block.length - offset)
            for value in contents.values.elements[first..<end] { write(string: value.json) }
        case .any:
            write(length: block.length - offset)
            for value in contents.values.elements[first..<end] { rest.any(value) }
        case .binary:
            if case .bytes(let bytes) = contents.values.elements[first] { rest.byteString(bytes) }
        case .embed: write(json: contents.values.elements[first])
        case .mark:
            let mark = contents.marks[first]
            write(key: contents.name(mark.key))
            write(json: mark.value)
        case .type:
            let branch = contents.branches[first], kind = branch.kind ?? .map
            if columns == nil { rest.uint(UInt64(kind.rawValue)) } else { columns!.types.write(UInt64(kind.rawValue)) }
            if kind.hasName { write(key: contents.name(branch.name)) }
        case .document:
            if case .text(let guid) = contents.values.elements[first] { write(string: guid) }
            rest.any(contents.values.elements[first + 1])
        case .collected, .skip: break
        }
    }

    private mutating func info(_ info: UInt8) { if columns == nil { rest.byte(info) } else { columns!.infos.write(info) } }

    private mutating func write(client: Int32, _ contents: Contents) {
        let client = contents.clients[client]
        if columns == nil { rest.uint(client) } else { columns!.clients.write(client) }
    }

    private mutating func write(reference id: BlockID, isLeft: Bool, _ contents: Contents) {
        write(client: id.client, contents)
        if columns == nil {
            rest.uint(id.clock)
        } else if isLeft {
            columns!.lefts.write(Int64(id.clock))
        } else {
            columns!.rights.write(Int64(id.clock))
        }
    }

    private mutating func write(length: Int32) {
        if columns == nil { rest.uint(length) } else { columns!.lengths.write(UInt64(length)) }
    }

    private mutating func write(string: String) { if columns == nil { rest.string(string) } else { columns!.strings.write(string) } }

    private mutating func write(json value: DocumentValue) {
        if columns == nil { rest.string(value.json) } else { rest.any(value) }
    }

    private mutating func write(key: String) {
        guard columns != nil else { return rest.string(key) }
        columns!.keys.write(columns!.nextKey)
        columns!.nextKey += 1
        columns!.strings.write(key)
    }
}
