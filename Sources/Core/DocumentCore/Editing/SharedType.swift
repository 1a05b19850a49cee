/// A shared type of a document: a root, or one that is nested in another.
///
/// It names the type and holds nothing. It belongs to the document that gave it, and to copies of that document.
public struct SharedType: Hashable, Sendable {
    let branch: Int32
}

/// What a list or a map of a document holds.
public enum DocumentNode: Hashable, Sendable {
    /// A plain value.
    case value(DocumentValue)
    /// A shared type.
    case type(SharedType)
    /// A document within the document, named by its identity. It is synchronized as a document of its own.
    case document(id: String, options: DocumentValue)
}

/// What can be put into a list or a map.
public enum NewNode: Hashable, Sendable {
    /// A plain value.
    case value(DocumentValue)
    /// A new, empty shared type. XML elements and hooks have a name, the other types do not use it.
    case type(SharedTypeKind, name: String = "")
    /// A document within the document.
    case document(id: String, options: DocumentValue = .object([]))
}

/// A run of a text with its marks, as Quill's deltas have it.
public struct TextRun: Hashable, Sendable {
    /// What stands in a text.
    public enum Content: Hashable, Sendable {
        /// Characters.
        case text(String)
        /// A value that counts as one unit.
        case embed(DocumentValue)
        /// A shared type, which counts as one unit.
        case type(SharedType)
    }

    /// The content.
    public var content: Content
    /// The marks that apply to it, in the order in which they began.
    public var marks: [DocumentValue.Entry]
}

extension SharedDocument {
    /// A root of the document.
    ///
    /// Roots have no type on the wire; the first call decides. Content that other copies put there is kept either way.
    public mutating func root(_ name: String, _ kind: SharedTypeKind) -> SharedType {
        let branch = store.root(store.contents.number(ofName: name))
        if store.contents.branches[Int(branch)].kind == nil { store.contents.branches[Int(branch)].kind = kind }
        return SharedType(branch: branch)
    }

    /// The root of this name, or nil if the document has none yet.
    public func root(_ name: String) -> SharedType? { store.existingRoot(name).map { SharedType(branch: $0) } }

    /// The names of all roots that the document has, in no particular order.
    public var rootNames: [String] { store.rootNames }

    /// The kind of a shared type, or nil for a root of which nobody has said it.
    public func kind(of type: SharedType) -> SharedTypeKind? { store.contents.branches[Int(type.branch)].kind }

    /// The name of an XML element or a hook, or nil for other types.
    public func name(of type: SharedType) -> String? {
        let name = store.contents.branches[Int(type.branch)].name
        return name < 0 ? nil : store.contents.name(name)
    }

    /// Whether the document has the type still.
    public func has(_ type: SharedType) -> Bool {
        guard store.contents.branches.indices.contains(Int(type.branch)) else { return false }
        let holder = store.contents.branches[Int(type.branch)].block
        guard holder >= 0 else { return store.contents.branches[Int(type.branch)].root >= 0 }
        let block = store.blocks[Int(holder)]
        return !block.isDeleted && block.kind == .type && block.content == type.branch
    }

    /// The length of a list or a text: values, types and embeds count 1, texts their UTF-16 units.
    public func count(_ type: SharedType) -> Int { has(type) ? Int(store.contents.branches[Int(type.branch)].length) : 0 }

    /// Checks that so many more units of this copy have room, with the marks around them.
    func checkRoom(for count: Int) throws(DocumentError) {
        let used = max(
            Int(store.next(ownNumber)) - Int(Int32.max) + Contents.capacity, store.contents.units.elements.count,
            store.contents.values.elements.count)
        guard count <= Contents.capacity - (1 << 16) - used else { throw DocumentError(.tooLarge) }
    }

    /// What an operation needs a type for.
    enum Use { case text, list, keys }

    /// Checks that a type is here, and has the operation.
    ///
    /// A root of which nobody has said the type has all of them.
    func check(_ type: SharedType, _ use: Use? = nil, upTo end: Int = 0) throws(DocumentError) {
        guard has(type) else { throw DocumentError(.noSuchType) }
        if let use, let kind = kind(of: type) {
            let isFit =
                switch use {
                case .text: kind.isText
                case .list: kind == .array || kind == .xmlFragment || kind == .xmlElement
                case .keys: kind == .map || kind == .xmlElement || kind == .xmlHook || kind == .xmlText
                }
            guard isFit else { throw DocumentError(.wrongType) }
        }
        guard end >= 0, end <= count(type) else { throw DocumentError(.outOfRange) }
    }
}
