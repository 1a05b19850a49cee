/// The identity of a unit of content: the client that made it, as an index in ``Contents/clients``, and the client's clock.
struct BlockID: Hashable, Sendable {
    var client: Int32
    var clock: Int32

    static let none = BlockID(client: -1, clock: -1)
    var isNone: Bool { client < 0 }
}

/// What a block holds, with the numbers of the update format (Yjs: contentRefs in Item.js).
enum ContentKind: UInt8, Sendable {
    /// Nothing is left of the block but its length (Yjs: GC).
    case collected = 0
    /// Deleted content of which the place is kept.
    case deleted = 1
    /// Values as JSON texts, which only old versions of Yjs write.
    case json = 2
    case binary = 3
    case text = 4
    case embed = 5
    /// A mark: a key and a value that apply from here on (Yjs: Format).
    case mark = 6
    /// A nested shared type.
    case type = 7
    /// Values.
    case any = 8
    /// A subdocument.
    case document = 9
    /// A gap. It stands in updates only, never in a document.
    case skip = 10

    /// Whether two blocks of this kind can become one.
    var joins: Bool { self == .text || self == .any || self == .json || self == .deleted }
}

/// A run of units that one client made without a gap (Yjs: Item, GC, Skip).
///
/// Blocks refer to one another by their index in ``Store/blocks``; −1 is none. A block is small and holds no reference, because documents
/// consist of hundreds of thousands of them.
struct Block: Sendable {
    var id: BlockID
    var length: Int32
    /// The neighbours in the list of the parent or of its key.
    ///
    /// Before the block is integrated, they hold the client and the clock of the parent's block (``isParentID``).
    var left: Int32 = -1
    var right: Int32 = -1
    /// The last unit to the left, and the first to the right, when the block was made.
    var origin = BlockID.none
    var rightOrigin = BlockID.none
    /// An index in ``Contents/branches``.
    ///
    /// Before the block is integrated, the index of the name of a root (``isParentRoot``).
    var parent: Int32 = -1
    /// The key in the parent's map, as an index in ``Contents/names``, or −1 in a list.
    var key: Int32 = -1
    /// The place of the content in its pool of ``Contents``.
    var content: Int32 = -1
    var kind: ContentKind
    private var flags: UInt8 = 0

    init(id: BlockID, length: Int32, kind: ContentKind) { (self.id, self.length, self.kind) = (id, length, kind) }

    var end: Int32 { id.clock + length }
    var lastID: BlockID { BlockID(client: id.client, clock: id.clock + length - 1) }
    /// Whether an index of the list counts the block.
    var isCountable: Bool { kind != .mark && kind != .deleted && kind != .collected }
    /// The number of units that an index of the list counts.
    var visibleLength: Int32 { !isDeleted && isCountable ? length : 0 }

    private subscript(flag: UInt8) -> Bool {
        get { flags & flag != 0 }
        set { if newValue { flags |= flag } else { flags &= ~flag } }
    }

    var isDeleted: Bool {
        get { self[1] }
        set { self[1] = newValue }
    }
    /// Whether undo needs the content, so that it must not be collected.
    var isKept: Bool {
        get { self[2] }
        set { self[2] = newValue }
    }
    /// Whether an undo made the content again, in a block that ``Store/redone`` knows.
    var isRedone: Bool {
        get { self[4] }
        set { self[4] = newValue }
    }
    /// Whether ``SearchMarkers`` know the block.
    var hasMarker: Bool {
        get { self[32] }
        set { self[32] = newValue }
    }
    var isParentRoot: Bool {
        get { self[8] }
        set { self[8] = newValue }
    }
    var isParentID: Bool {
        get { self[16] }
        set { self[16] = newValue }
    }
    /// The parent's block, before the block is integrated.
    var parentID: BlockID {
        get { BlockID(client: left, clock: right) }
        set { (left, right) = (newValue.client, newValue.clock) }
    }
}
