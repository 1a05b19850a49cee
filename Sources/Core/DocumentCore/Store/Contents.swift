/// Everything that blocks refer to by number: texts, values, marks, names, clients and shared types.
///
/// A document has one, and so has an update that is read without a document.
struct Contents: Sendable {
    var units = Pool<UInt16>()
    var values = Pool<DocumentValue>()
    var marks: ContiguousArray<Mark> = []
    var branches: ContiguousArray<Branch> = []
    /// Keys of maps, keys of marks, names of roots and of XML elements.
    private(set) var names = Interned<Name>()
    var clients = Interned<UInt64>()

    /// A text that is equal only to the same UTF-8.
    ///
    /// Swift takes texts as equal that JavaScript tells apart, such as both forms of é.
    struct Name: Hashable, Sendable {
        var text: String

        static func == (one: Name, two: Name) -> Bool { one.text.utf8.elementsEqual(two.text.utf8) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    mutating func number(ofName name: String) -> Int32 { names.intern(Name(text: name)) }

    func knownNumber(ofName name: String) -> Int32? { names.number(of: Name(text: name)) }

    func name(_ number: Int32) -> String { names[number].text }

    /// A key and a value that apply to the text from a block on.
    struct Mark: Sendable {
        var key: Int32
        var value: DocumentValue
    }

    /// The sizes of all parts, to which ``restore(_:)`` can return.
    struct Checkpoint: Equatable {
        var units, values, marks, branches, names, clients: Int
    }

    var checkpoint: Checkpoint {
        Checkpoint(
            units: units.elements.count, values: values.elements.count, marks: marks.count, branches: branches.count,
            names: names.values.count,
            clients: clients.values.count)
    }

    /// Drops what was added since, when no block refers to it.
    mutating func restore(_ checkpoint: Checkpoint) {
        units.elements.removeLast(units.elements.count - checkpoint.units)
        values.elements.removeLast(values.elements.count - checkpoint.values)
        marks.removeLast(marks.count - checkpoint.marks)
        branches.removeLast(branches.count - checkpoint.branches)
        names.restore(checkpoint.names)
        clients.restore(checkpoint.clients)
    }

    mutating func mark(_ key: Int32, _ value: DocumentValue) -> Int32 {
        marks.append(Mark(key: key, value: value))
        return Int32(marks.count - 1)
    }

    /// Cuts the content of a block at `offset`, and returns where the second part begins.
    mutating func split(_ block: Block, at offset: Int32) -> Int32 {
        switch block.kind {
        case .text:
            // Yjs replaces both halves of a surrogate pair that is cut (ContentString.js), and all copies have to do the same.
            let cut = Int(block.content + offset)
            if isPair(block, cutAt: offset) {
                units.elements[cut - 1] = 0xFFFD
                units.elements[cut] = 0xFFFD
            }
            return block.content + offset
        case .any, .json: return block.content + offset
        default: return -1
        }
    }

    /// Whether a cut at `offset` parts a surrogate pair.
    func isPair(_ block: Block, cutAt offset: Int32) -> Bool {
        block.kind == .text && UTF16.isLeadSurrogate(units.elements[Int(block.content + offset - 1)])
    }

    /// Whether there is room to join two contents.
    ///
    /// Their places have to stay within 31 bits.
    func canJoin(_ left: Block, _ right: Block) -> Bool {
        left.kind == .deleted || left.content + left.length == right.content
            || max(units.elements.count, values.elements.count) < Contents.capacity - 2 * Int(left.length + right.length)
    }

    /// The most UTF-16 units, and the most values, of a document with all that was deleted since it was read.
    static let capacity = 1 << 30

    /// Makes one content of the contents of two neighbours, and returns where it begins.
    mutating func join(_ left: Block, _ right: Block) -> Int32 {
        switch left.kind {
        case .text: units.join(left.content, left.length, right.content, right.length)
        case .any, .json: values.join(left.content, left.length, right.content, right.length)
        default: -1
        }
    }
}

/// An array to which contents are appended, and in which two neighbours are joined.
struct Pool<Element: Sendable>: Sendable {
    var elements: ContiguousArray<Element> = []
    /// Free places behind a content that was moved, by where they begin.
    private var spare: [Int32: Int32] = [:]

    mutating func append(_ element: Element) -> Int32 {
        elements.append(element)
        return Int32(elements.count - 1)
    }

    /// Joins two contents, and returns where the joined content begins.
    ///
    /// Text that several clients type in turns lies scattered. A content that has to move gets free places behind it, as a growing array
    /// does, so that a long text is not moved for each letter.
    mutating func join(_ left: Int32, _ leftLength: Int32, _ right: Int32, _ rightLength: Int32) -> Int32 {
        let end = left + leftLength
        if end == right { return left }
        if end == elements.count {
            copy(right, rightLength)
            return left
        }
        if let free = spare.removeValue(forKey: end), free >= rightLength {
            for place in 0..<Int(rightLength) { elements[Int(end) + place] = elements[Int(right) + place] }
            if free > rightLength { spare[end + rightLength] = free - rightLength }
            return left
        }
        let start = Int32(elements.count), free = leftLength + rightLength
        copy(left, leftLength)
        copy(right, rightLength)
        elements.append(contentsOf: repeatElement(elements[Int(right)], count: Int(free)))
        spare[start + free] = free
        return start
    }

    /// Appends a copy of elements, and returns where it begins.
    mutating func copied(_ start: Int32, _ count: Int32) -> Int32 {
        copy(start, count)
        return Int32(elements.count) - count
    }

    /// Appends elements that are stored already.
    ///
    /// One by one, because a slice would keep the array shared, and so make a copy of it.
    private mutating func copy(_ start: Int32, _ count: Int32) {
        for place in Int(start)..<Int(start + count) { elements.append(elements[place]) }
    }
}

/// Values that are stored once and named by their number.
struct Interned<Element: Hashable & Sendable>: Sendable {
    private(set) var values: ContiguousArray<Element> = []
    private var numbers: [Element: Int32] = [:]

    /// The number of a value that is stored, or nil.
    func number(of value: Element) -> Int32? {
        // Most documents are edited by few, and the same value comes many times in a row.
        if let last = values.last, last == value { return Int32(values.count - 1) }
        return numbers[value]
    }

    mutating func intern(_ value: Element) -> Int32 {
        if let known = number(of: value) { return known }
        let number = Int32(values.count)
        values.append(value)
        numbers[value] = number
        return number
    }

    subscript(number: Int32) -> Element { values[Int(number)] }

    mutating func restore(_ count: Int) {
        while values.count > count { numbers[values.removeLast()] = nil }
    }
}

/// A shared type: a list of blocks, and a list for each key (Yjs: AbstractType).
struct Branch: Sendable {
    /// The number of the type in the update format, or nil for a root of which nobody has said the type yet.
    var kind: SharedTypeKind?
    /// The name of an XML element or a hook, as an index in ``Contents/names``, or −1.
    var name: Int32 = -1
    /// The block that holds the type, or −1 for a root.
    var block: Int32 = -1
    /// The name of a root, or −1.
    var root: Int32 = -1
    var first: Int32 = -1
    /// The sum of ``Block/visibleLength`` of the list.
    var length: Int32 = 0
    /// The number of marks in the list that are not deleted.
    var marks: Int32 = 0
    /// The last block of each key, and the keys in the order in which they came.
    var map = KeyTable()

    struct KeyTable: Sendable {
        private(set) var keys: [Int32] = []
        private var last: [Int32: Int32] = [:]

        subscript(key: Int32) -> Int32 {
            get { keys.isEmpty ? -1 : last[key] ?? -1 }
            set { if last.updateValue(newValue, forKey: key) == nil { keys.append(key) } }
        }
    }
}

/// The kinds of shared types, with their numbers in the update format (Yjs: typeRefs in ContentType.js).
public enum SharedTypeKind: UInt8, Sendable, Hashable {
    /// An array.
    case array = 0
    /// A map.
    case map = 1
    /// A text with marks.
    case text = 2
    /// An XML element with a name, attributes and children.
    case xmlElement = 3
    /// A list of XML elements and texts.
    case xmlFragment = 4
    /// An XML hook: a map with a name.
    case xmlHook = 5
    /// A text within XML, with attributes of its own.
    case xmlText = 6

    var hasName: Bool { self == .xmlElement || self == .xmlHook }
    var isText: Bool { self == .text || self == .xmlText }
}
