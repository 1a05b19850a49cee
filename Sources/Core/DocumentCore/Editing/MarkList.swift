/// The marks at a place of a text: keys, each with the number of a mark in ``Contents/marks``, or −1 for null.
///
/// The order is the one of JavaScript's `Map`, because it decides the order of the blocks that an edit makes.
struct MarkList: Sendable {
    private(set) var entries: [(key: Int32, mark: Int32)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// The mark of a key, or nil if the list does not have the key.
    subscript(key: Int32) -> Int32? { entries.first { $0.key == key }?.mark }

    mutating func set(_ key: Int32, _ mark: Int32) {
        if let index = entries.firstIndex(where: { $0.key == key }) { entries[index].mark = mark } else { entries.append((key, mark)) }
    }

    mutating func remove(_ key: Int32) { entries.removeAll { $0.key == key } }
}

extension Store {
    /// Notes the mark of a block for the text behind it.
    func pass(_ block: Block, _ marks: inout MarkList) {
        let mark = contents.marks[Int(block.content)]
        if mark.value == .null { marks.remove(mark.key) } else { marks.set(mark.key, block.content) }
    }

    /// The value of a mark, or null for none.
    func value(_ mark: Int32?) -> DocumentValue {
        guard let mark, mark >= 0 else { return .null }
        return contents.marks[Int(mark)].value
    }

    /// Whether two marks have the same value (Yjs: equalAttrs).
    func isSame(_ one: Int32?, _ two: Int32?) -> Bool { one ?? -1 == two ?? -1 || value(one).isSameMark(as: value(two)) }

    /// Whether two marks have one value in the sense of JavaScript's `===`.
    ///
    /// Objects have if they come from one block.
    func isIdentical(_ one: Int32?, _ two: Int32?) -> Bool { one ?? -1 == two ?? -1 || value(one).isIdentical(to: value(two)) }
}
