/// What a transaction changed in one shared type, so that a view can follow without reading the type anew.
public struct DocumentChange: Hashable, Sendable {
    /// A step along a list or a text, from its start on.
    ///
    /// What follows the last step has not changed.
    public enum Step: Hashable, Sendable {
        /// Units that stay, with the marks that changed on them. A null ends a mark.
        case retain(Int, marks: [DocumentValue.Entry] = [])
        /// Text that came, with all its marks.
        case text(String, marks: [DocumentValue.Entry] = [])
        /// Values, embeds and types that came, with all their marks.
        case nodes([DocumentNode], marks: [DocumentValue.Entry] = [])
        /// Units that went.
        case delete(Int)
    }

    /// The type that changed.
    ///
    /// Types that came with the transaction are part of what was inserted, and have no change of their own.
    public let type: SharedType
    /// The changes of the list or the text.
    public var steps: [Step] = []
    /// The keys of the map, or the attributes of XML, that changed.
    public var keys: [String] = []
}

extension SharedDocument {
    /// Whether ``changes`` are computed.
    ///
    /// It takes time in proportion to the length of each type that changes.
    public var observesChanges: Bool {
        get { store.changes.isObserved }
        set { store.changes.isObserved = newValue }
    }

    /// What the last commit, undo or update of others changed, by type.
    public var changes: [DocumentChange] { store.lastChanges }
}

extension Store {
    /// What the transaction has changed so far.
    ///
    /// Blocks are not joined yet, so each is either old or new.
    func summary() -> [DocumentChange] {
        var summaries: [Int32: DocumentChange] = [:]
        for place in changes.touched.sorted(by: { ($0.branch, $0.key) < ($1.branch, $1.key) }) {
            let holder = contents.branches[Int(place.branch)].block
            if holder >= 0, blocks[Int(holder)].isDeleted || isNew(blocks[Int(holder)]) { continue }
            var change = summaries[place.branch] ?? DocumentChange(type: SharedType(branch: place.branch))
            if place.key < 0 { change.steps = steps(of: place.branch) } else { change.keys.append(contents.name(place.key)) }
            summaries[place.branch] = change
        }
        return summaries.values.filter { !$0.steps.isEmpty || !$0.keys.isEmpty }.sorted { $0.type.branch < $1.type.branch }
    }

    private func isNew(_ block: Block) -> Bool {
        let before = clients[Int(block.id.client)].before
        return before >= 0 && block.id.clock >= before
    }

    private func steps(of branch: Int32) -> [DocumentChange.Step] {
        var steps = Steps(), old = MarkList(), new = MarkList()
        var index = contents.branches[Int(branch)].first
        while index >= 0 {
            let block = blocks[Int(index)], isNew = isNew(block)
            let wasThere = !isNew && (!block.isDeleted || changes.deleted.contains(block.id))
            if block.kind == .mark {
                if wasThere { pass(block, &old) }
                if !block.isDeleted { pass(block, &new) }
            } else if block.isCountable, wasThere {
                if block.isDeleted { steps.delete(block.length) } else { retain(block, old, new, &steps) }
            } else if block.isCountable, !block.isDeleted {
                let marks = entries(new)
                if block.kind == .text {
                    steps.insert(contents.units.elements[Int(block.content)..<Int(block.content + block.length)], marks)
                } else {
                    steps.insert(nodes(of: block), marks)
                }
            }
            index = block.right
        }
        return steps.finish()
    }

    private func entries(_ marks: MarkList) -> [DocumentValue.Entry] {
        marks.entries.map { DocumentValue.Entry(contents.name($0.key), value($0.mark)) }
    }

    private func retain(_ block: Block, _ old: MarkList, _ new: MarkList, _ steps: inout Steps) {
        let marks = difference(old, new)
        guard !changes.replaced.isEmpty, block.kind == .text else { return steps.retain(block.length, marks) }
        for offset in 0..<block.length {
            if changes.replaced.contains(BlockID(client: block.id.client, clock: block.id.clock + offset)) {
                steps.delete(1)
                steps.insert([0xFFFD], entries(new))
            } else {
                steps.retain(1, marks)
            }
        }
    }

    /// The marks that text got or lost.
    private func difference(_ old: MarkList, _ new: MarkList) -> [DocumentValue.Entry] {
        if old.isEmpty, new.isEmpty { return [] }
        let changed = new.entries.filter { !isSame(old[$0.key], $0.mark) }.map {
            DocumentValue.Entry(contents.name($0.key), value($0.mark))
        }
        return changed + old.entries.filter { new[$0.key] == nil }.map { DocumentValue.Entry(contents.name($0.key), .null) }
    }
}

/// Steps in the making: equal neighbours are one.
private struct Steps {
    private var steps: [DocumentChange.Step] = []
    /// Text that is not among the steps yet.
    private var units: ContiguousArray<UInt16> = []
    private var marks: [DocumentValue.Entry] = []

    mutating func retain(_ count: Int32, _ marks: [DocumentValue.Entry]) {
        flush()
        if case .retain(let before, marks)? = steps.last {
            steps[steps.count - 1] = .retain(before + Int(count), marks: marks)
        } else {
            steps.append(.retain(Int(count), marks: marks))
        }
    }

    mutating func delete(_ count: Int32) {
        flush()
        if case .delete(let before)? = steps.last {
            steps[steps.count - 1] = .delete(before + Int(count))
        } else {
            steps.append(.delete(Int(count)))
        }
    }

    mutating func insert(_ text: ArraySlice<UInt16>, _ marks: [DocumentValue.Entry]) {
        if marks != self.marks { flush() }
        self.marks = marks
        units += text
    }

    mutating func insert(_ nodes: [DocumentNode], _ marks: [DocumentValue.Entry]) {
        flush()
        if case .nodes(let before, marks)? = steps.last {
            steps[steps.count - 1] = .nodes(before + nodes, marks: marks)
        } else {
            steps.append(.nodes(nodes, marks: marks))
        }
    }

    private mutating func flush() {
        guard !units.isEmpty else { return }
        steps.append(.text(String(utf16: units[...]), marks: marks))
        units = []
    }

    consuming func finish() -> [DocumentChange.Step] {
        flush()
        while case .retain(_, let marks)? = steps.last, marks.isEmpty { steps.removeLast() }
        return steps
    }
}
