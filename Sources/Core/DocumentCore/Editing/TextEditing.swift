// Edits of texts with marks (Yjs: YText.js). Which blocks an edit makes, and where, decides the bytes of its update; so this follows Yjs
// step by step.

extension SharedDocument {
    /// Inserts text.
    ///
    /// - Parameters:
    ///   - marks: The marks of the text: all others end before it and begin again behind it. Nil: the marks at its place.
    /// - Throws: A ``DocumentError`` if the type is gone or no text, or if the index lies outside.
    public mutating func insert(_ text: String, at index: Int, in type: SharedType, marks: [DocumentValue.Entry]? = nil)
        throws(DocumentError)
    {
        try check(type, .text, upTo: index)
        guard !text.isEmpty else { return }
        try checkRoom(for: text.utf16.count)
        var position = store.position(type.branch, Int32(index))
        insert(.text(text), at: &position, marks.map { given($0) } ?? position.marks)
    }

    /// Inserts a value that counts as one unit of the text, such as an image.
    ///
    /// Without marks, it has none.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone or no text, or if the index lies outside.
    public mutating func insert(embed value: DocumentValue, at index: Int, in type: SharedType, marks: [DocumentValue.Entry] = [])
        throws(DocumentError)
    {
        try check(type, .text, upTo: index)
        try checkRoom(for: 1)
        var position = store.position(type.branch, Int32(index))
        insert(.embed(value), at: &position, given(marks))
    }

    /// Sets and ends marks of a range.
    ///
    /// A null ends a mark.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone or no text, or if the range lies outside.
    public mutating func format(_ range: Range<Int>, in type: SharedType, marks: [DocumentValue.Entry]) throws(DocumentError) {
        try check(type, .text, upTo: range.upperBound)
        guard range.lowerBound >= 0 else { throw DocumentError(.outOfRange) }
        guard !range.isEmpty else { return }
        try checkRoom(for: 0)
        var position = store.position(type.branch, Int32(range.lowerBound))
        guard store.right(of: position) >= 0 else { return }
        format(Int32(range.count), at: &position, given(marks))
    }

    /// A step of a delta, as Quill has it.
    public enum TextStep: Hashable, Sendable {
        /// Goes on by units, and sets marks on them.
        case retain(Int, marks: [DocumentValue.Entry] = [])
        /// Inserts text with exactly these marks.
        case insert(String, marks: [DocumentValue.Entry] = [])
        /// Inserts an embed with exactly these marks.
        case embed(DocumentValue, marks: [DocumentValue.Entry] = [])
        /// Deletes units.
        case delete(Int)
    }

    /// Applies a delta from the start of a text on.
    ///
    /// What a delta retains behind the end becomes line breaks, as in Yjs. What it deletes there does not exist.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone, or if a number is negative or larger than `Int32.max`.
    public mutating func apply(_ delta: [TextStep], to type: SharedType) throws(DocumentError) {
        try check(type, .text)
        var room = 0
        for step in delta {
            switch step {
            case .retain(let count, _):
                guard count >= 0, count <= self.count(type) + (1 << 20) else { throw DocumentError(.outOfRange) }
                room += max(0, count - self.count(type)) + 16
            case .delete(let count): guard count >= 0, count <= Int32.max else { throw DocumentError(.outOfRange) }
            case .insert(let text, _): room += text.utf16.count + 16
            case .embed: room += 16
            }
        }
        try checkRoom(for: room)
        var position = Position(branch: type.branch)
        for step in delta {
            switch step {
            case .retain(let count, let marks): format(Int32(count), at: &position, given(marks))
            case .insert(let text, let marks): if !text.isEmpty { insert(.text(text), at: &position, given(marks)) }
            case .embed(let value, let marks): insert(.embed(value), at: &position, given(marks))
            case .delete(let count): delete(Int32(count), at: &position)
            }
        }
    }

    // MARK: - Steps

    private enum Insertion {
        case text(String)
        case embed(DocumentValue)
    }

    private mutating func given(_ marks: [DocumentValue.Entry]) -> MarkList {
        var list = MarkList()
        for entry in marks {
            let key = store.contents.number(ofName: entry.key)
            list.set(key, entry.value.isNull ? -1 : store.contents.mark(key, entry.value))
        }
        return list
    }

    private mutating func insert(_ insertion: Insertion, at position: inout Position, _ given: MarkList) {
        var marks = given
        for (key, _) in position.marks.entries where marks[key] == nil { marks.set(key, -1) }
        passEqual(marks, &position)
        var negated = begin(marks, at: &position)
        switch insertion {
        case .text(let text):
            let start = Int32(store.contents.units.elements.count)
            store.contents.units.elements.append(contentsOf: text.utf16)
            insert(.text, content: start, length: Int32(store.contents.units.elements.count) - start, at: &position)
        case .embed(let value): insert(.embed, content: store.contents.values.append(value), at: &position)
        }
        end(&negated, at: &position)
    }

    private mutating func format(_ count: Int32, at position: inout Position, _ marks: MarkList) {
        var left = count
        passEqual(marks, &position)
        var negated = begin(marks, at: &position)
        // Also looks at the marks behind the range, so that none is written that stands there already.
        walk: while case let right = store.right(of: position), right >= 0 {
            let block = store.blocks[Int(right)]
            guard left > 0 || (!negated.isEmpty && (block.isDeleted || block.kind == .mark)) else { break }
            if !block.isDeleted {
                if block.kind == .mark {
                    let key = store.contents.marks[Int(block.content)].key
                    if let mark = marks[key] {
                        if store.isSame(mark, block.content) {
                            negated.remove(key)
                        } else {
                            if left == 0 { break walk }
                            negated.set(key, block.content)
                        }
                        store.delete(right)
                    }
                } else {
                    if left < block.length { cut(block, left) }
                    left -= store.blocks[Int(right)].visibleLength
                }
            }
            store.step(&position, over: right)
        }
        // Quill assumes that a text ends with a line break, and formats it.
        if left > 0 {
            let start = Int32(store.contents.units.elements.count)
            store.contents.units.elements.append(contentsOf: repeatElement(0x0A, count: Int(left)))
            insert(.text, content: start, length: left, at: &position)
        }
        end(&negated, at: &position)
    }

    /// Deletes units, and the marks that have nothing left to apply to (Yjs: deleteText).
    mutating func delete(_ count: Int32, at position: inout Position) {
        var left = count
        let startMarks = position.marks, start = store.right(of: position)
        while left > 0, case let right = store.right(of: position), right >= 0 {
            let block = store.blocks[Int(right)]
            if block.visibleLength > 0 {
                if left < block.length { cut(block, left) }
                left -= store.blocks[Int(right)].length
                store.delete(right)
            }
            store.step(&position, over: right)
        }
        if start >= 0, store.contents.branches[Int(position.branch)].marks > 0 {
            cleanGap(from: start, to: store.right(of: position), startMarks, &position.marks)
        }
    }

    private mutating func cut(_ block: Block, _ length: Int32) {
        _ = store.blockStarting(with: BlockID(client: block.id.client, clock: block.id.clock + length))
    }

    /// Goes past what is deleted, and past marks that say what the new text is to have (Yjs: minimizeAttributeChanges).
    private func passEqual(_ marks: MarkList, _ position: inout Position) {
        while case let right = store.right(of: position), right >= 0 {
            let block = store.blocks[Int(right)]
            guard
                block.isDeleted
                    || (block.kind == .mark && store.isSame(marks[store.contents.marks[Int(block.content)].key], block.content))
            else { break }
            store.step(&position, over: right)
        }
    }

    /// Writes the marks that differ, and returns what has to be written behind the text (Yjs: insertAttributes).
    private mutating func begin(_ marks: MarkList, at position: inout Position) -> MarkList {
        var negated = MarkList()
        for (key, mark) in marks.entries {
            let current = position.marks[key]
            guard !store.isSame(current, mark) else { continue }
            negated.set(key, current ?? -1)
            insert(mark: mark, key, at: &position)
        }
        return negated
    }

    /// Restores marks behind the text, unless they stand there already (Yjs: insertNegatedAttributes).
    private mutating func end(_ negated: inout MarkList, at position: inout Position) {
        while case let right = store.right(of: position), right >= 0 {
            let block = store.blocks[Int(right)]
            if !block.isDeleted {
                guard block.kind == .mark, case let key = store.contents.marks[Int(block.content)].key, let mark = negated[key],
                    store.isSame(mark, block.content)
                else { break }
                negated.remove(key)
            }
            store.step(&position, over: right)
        }
        for (key, mark) in negated.entries { insert(mark: mark, key, at: &position) }
    }

    private mutating func insert(mark: Int32, _ key: Int32, at position: inout Position) {
        insert(.mark, content: mark >= 0 ? mark : store.contents.mark(key, .null), at: &position)
    }

    /// Makes a block at a place, and moves the place behind it.
    mutating func insert(_ kind: ContentKind, content: Int32, length: Int32 = 1, at position: inout Position) {
        let right = store.right(of: position)
        let index = insert(kind, content: content, length: length, between: position.left, right, in: position.branch)
        store.step(&position, over: index)
    }

    /// Makes a block of this client.
    @discardableResult mutating func insert(
        _ kind: ContentKind, content: Int32, length: Int32 = 1, between left: Int32, _ right: Int32, in branch: Int32, key: Int32 = -1
    ) -> Int32 {
        var block = Block(id: BlockID(client: ownNumber, clock: store.next(ownNumber)), length: length, kind: kind)
        block.content = content
        block.parent = branch
        block.key = key
        (block.left, block.right) = (left, right)
        if left >= 0 { block.origin = store.blocks[Int(left)].lastID }
        if right >= 0 { block.rightOrigin = store.blocks[Int(right)].id }
        return store.integrate(block)
    }

    /// Deletes marks between two visible blocks that change nothing any more (Yjs: cleanupFormattingGap).
    private mutating func cleanGap(from start: Int32, to current: Int32, _ startMarks: MarkList, _ marks: inout MarkList) {
        var end = current, endMarks = marks
        while end >= 0, case let block = store.blocks[Int(end)], !block.isCountable || block.isDeleted {
            if !block.isDeleted, block.kind == .mark { store.pass(block, &endMarks) }
            end = block.right
        }
        var index = start, isPastCurrent = false
        while index != end, index >= 0 {
            if index == current { isPastCurrent = true }
            let block = store.blocks[Int(index)]
            if !block.isDeleted, block.kind == .mark {
                let key = store.contents.marks[Int(block.content)].key
                // Either a later mark says otherwise, or the text before has it already.
                let isStart = store.isIdentical(startMarks[key], block.content)
                if !store.isIdentical(endMarks[key], block.content) || isStart {
                    store.delete(index)
                    if !isPastCurrent, !isStart, store.isIdentical(marks[key], block.content) { marks.remove(key) }
                }
            }
            index = block.right
        }
    }
}
