/// Reads an update of either version as a whole, before a document changes.
///
/// Version 1 is one stream. Version 2 keeps most fields in columns, and the others in ``rest`` (Yjs: UpdateDecoder.js).
struct UpdateReader: ~Copyable {
    /// The most blocks of one update, by its length.
    ///
    /// Columns with run-length codes could otherwise ask for any number with a few bytes. States of real documents have fewer than one block
    /// a byte, unless they are small and very regular.
    private let maximumBlocks: Int
    /// The largest clock.
    ///
    /// It leaves room for as many edits of this copy, even if others use its identity.
    static let maximumClock: Int32 = 1 << 30

    private var rest: Lib0Reader
    private var columns: Columns?
    /// Whether delete sets have distances instead of clocks (Yjs: DSDecoderV2).
    private let hasDistances: Bool

    /// A class, so that the reader of version 1 stays small.
    private final class Columns {
        var keys: DifferenceRunReader
        var clients: NumberRunReader
        var lefts: DifferenceRunReader
        var rights: DifferenceRunReader
        var infos: ByteRunReader
        var strings: StringRunReader
        var parents: ByteRunReader
        var types: NumberRunReader
        var lengths: NumberRunReader
        var knownKeys: [String] = []

        init(_ reader: inout Lib0Reader) throws(DocumentError) {
            // A flag for features to come.
            _ = try reader.uint()
            keys = DifferenceRunReader(try reader.part())
            clients = NumberRunReader(try reader.part())
            lefts = DifferenceRunReader(try reader.part())
            rights = DifferenceRunReader(try reader.part())
            infos = ByteRunReader(try reader.part())
            strings = try StringRunReader(try reader.part())
            parents = ByteRunReader(try reader.part())
            types = NumberRunReader(try reader.part())
            lengths = NumberRunReader(try reader.part())
        }
    }

    /// Reads a snapshot, which has no columns.
    init(snapshot bytes: [UInt8], _ version: UpdateVersion) {
        rest = Lib0Reader(bytes)
        maximumBlocks = 100_000 + 32 * bytes.count
        hasDistances = version == .v2
    }

    init(_ bytes: [UInt8], _ version: UpdateVersion) throws(DocumentError) {
        rest = Lib0Reader(bytes)
        maximumBlocks = 100_000 + 32 * bytes.count
        hasDistances = version == .v2
        if version == .v2 { columns = try Columns(&rest) }
    }

    /// Reads all blocks and the delete set.
    ///
    /// Texts, values and names go into `contents`.
    mutating func read(into contents: inout Contents) throws(DocumentError) -> Update {
        var update = Update()
        for _ in 0..<(try rest.count()) {
            let count = try rest.uint()
            let client = try client(&contents)
            var clock = try rest.clock()
            guard count <= UInt64(maximumBlocks - update.blocks.count) else { throw rest.failure(.tooLarge) }
            let start = update.blocks.count
            for _ in 0..<count {
                let block = try block(BlockID(client: client, clock: clock), &contents)
                guard block.length > 0 else { throw rest.failure(.malformed) }
                guard clock <= Self.maximumClock, block.length <= Self.maximumClock - clock else { throw rest.failure(.tooLarge) }
                clock += block.length
                update.blocks.append(block)
            }
            if count > 0 { update.runs.append(Update.Run(client: client, blocks: start..<update.blocks.count)) }
        }
        update.deletes = try deletes(&contents)
        return update
    }

    /// Reads a delete set, as it stands at the end of an update and at the start of a snapshot.
    ///
    /// The clients keep their order, because Yjs deletes in it, and the order decides which blocks it joins. The ranges of a client are
    /// joined, because a hostile update may name the same blocks any number of times.
    mutating func deletes(_ contents: inout Contents) throws(DocumentError) -> IDSet {
        var set = IDSet()
        for _ in 0..<(try rest.count()) {
            let client = contents.clients.intern(try rest.uint())
            var place: Int32 = 0
            for _ in 0..<(try rest.count()) {
                var clock = try rest.clock(), length = try rest.clock()
                if hasDistances {
                    guard clock < Int32.max - place, length < Int32.max else { throw rest.failure(.tooLarge) }
                    (clock, length) = (clock + place, length + 1)
                }
                guard length < Int32.max - clock else { throw rest.failure(.tooLarge) }
                place = clock + length
                if length > 0 { set.insert(BlockID(client: client, clock: clock), length) }
            }
        }
        set.sortWithinClients()
        return set
    }

    /// Reads a state vector: each client's next clock.
    mutating func stateVector() throws(DocumentError) -> [UInt64: Int32] {
        var vector: [UInt64: Int32] = [:]
        for _ in 0..<(try rest.count()) { vector[try rest.uint()] = try rest.clock() }
        return vector
    }

    // MARK: - Blocks

    private mutating func block(_ id: BlockID, _ contents: inout Contents) throws(DocumentError) -> Block {
        let info = columns == nil ? try rest.byte() : try columns!.infos.read()
        guard let kind = ContentKind(rawValue: info & 0x1F) else { throw rest.failure(.unknownContent) }
        switch kind {
        case .collected:
            var block = Block(id: id, length: try length(), kind: .collected)
            block.isDeleted = true
            return block
        case .skip: return Block(id: id, length: try rest.clock(), kind: .skip)
        default: break
        }
        var block = Block(id: id, length: 1, kind: kind)
        if info & 0x80 != 0 { block.origin = try reference(isLeft: true, of: id, &contents) }
        if info & 0x40 != 0 { block.rightOrigin = try reference(isLeft: false, of: id, &contents) }
        if info & 0xC0 == 0 {
            let isRoot = columns == nil ? try rest.uint() == 1 : try columns!.parents.read() == 1
            if isRoot {
                block.isParentRoot = true
                block.parent = contents.number(ofName: try string())
            } else {
                block.isParentID = true
                block.parentID = try reference(isLeft: true, of: id, &contents)
            }
            if info & 0x20 != 0 { block.key = contents.number(ofName: try string()) }
        }
        try content(of: &block, &contents)
        return block
    }

    private mutating func content(of block: inout Block, _ contents: inout Contents) throws(DocumentError) {
        switch block.kind {
        case .deleted:
            block.length = try length()
            block.isDeleted = true
        case .text:
            block.content = Int32(contents.units.elements.count)
            let count =
                columns == nil
                ? try rest.units(into: &contents.units.elements)
                : try columns!.strings.read(into: &contents.units.elements)
            guard let length = Int32(exactly: count), contents.units.elements.count <= Contents.capacity else {
                throw rest.failure(.tooLarge)
            }
            block.length = length
        case .json, .any:
            block.length = try length()
            // Each value takes at least one byte, or a length in a column that is as long as the update.
            guard block.length <= maximumBlocks else { throw rest.failure(.tooLarge) }
            block.content = Int32(contents.values.elements.count)
            guard contents.values.elements.count <= Contents.capacity else { throw rest.failure(.tooLarge) }
            for _ in 0..<block.length {
                if block.kind == .any {
                    _ = contents.values.append(try rest.any())
                } else {
                    guard let value = DocumentValue(json: Array(try string().utf8)) else { throw rest.failure(.invalidJSON) }
                    _ = contents.values.append(value)
                }
            }
        case .binary: block.content = contents.values.append(.bytes(try rest.byteString()))
        case .embed: block.content = contents.values.append(try json())
        case .mark:
            let key = contents.number(ofName: try key())
            block.content = contents.mark(key, try json())
        case .type:
            let number = columns == nil ? try rest.uint() : try columns!.types.read()
            guard let kind = SharedTypeKind(rawValue: UInt8(clamping: number)) else { throw rest.failure(.unknownType) }
            var branch = Branch(kind: kind)
            if kind.hasName { branch.name = contents.number(ofName: try key()) }
            contents.branches.append(branch)
            block.content = Int32(contents.branches.count - 1)
        case .document:
            block.content = contents.values.append(.text(try string()))
            _ = contents.values.append(try rest.any())
        case .collected, .skip: break
        }
    }

    /// Reads the origin, the right origin or the parent of a block.
    ///
    /// A block of the same client has to come before, or no order of applying could satisfy it.
    private mutating func reference(isLeft: Bool, of id: BlockID, _ contents: inout Contents) throws(DocumentError) -> BlockID {
        let client = try client(&contents), clock: Int32
        if columns == nil {
            clock = try rest.clock()
        } else {
            guard let number = Int32(exactly: isLeft ? try columns!.lefts.read() : try columns!.rights.read()), number >= 0 else {
                throw rest.failure(.malformed)
            }
            clock = number
        }
        guard client != id.client || clock < id.clock else { throw rest.failure(.impossibleReference) }
        return BlockID(client: client, clock: clock)
    }

    private mutating func client(_ contents: inout Contents) throws(DocumentError) -> Int32 {
        let client = columns == nil ? try rest.uint() : try columns!.clients.read()
        guard contents.clients.values.count < Int32.max else { throw rest.failure(.tooLarge) }
        return contents.clients.intern(client)
    }

    private mutating func length() throws(DocumentError) -> Int32 {
        guard columns != nil else { return try rest.clock() }
        guard let length = Int32(exactly: try columns!.lengths.read()) else { throw rest.failure(.tooLarge) }
        return length
    }

    private mutating func string() throws(DocumentError) -> String {
        columns == nil ? try rest.string() : try columns!.strings.read()
    }

    private mutating func json() throws(DocumentError) -> DocumentValue { columns == nil ? try rest.json() : try rest.any() }

    /// Reads a name that may repeat.
    ///
    /// Writers of today write it anew each time, but readers have to know the repeated form.
    private mutating func key() throws(DocumentError) -> String {
        guard columns != nil else { return try rest.string() }
        let number = try columns!.keys.read()
        if number >= 0, number < columns!.knownKeys.count { return columns!.knownKeys[Int(number)] }
        let key = try columns!.strings.read()
        columns!.knownKeys.append(key)
        return key
    }
}
