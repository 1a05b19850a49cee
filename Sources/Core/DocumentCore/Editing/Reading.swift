extension SharedDocument {
    /// The text without marks and embeds.
    public func text(_ type: SharedType) -> String {
        var units: ContiguousArray<UInt16> = []
        for block in visible(type) where block.kind == .text { units += store.contents.units.elements[block.range] }
        return String(utf16: units[...])
    }

    /// The text with its marks, embeds and types.
    public func runs(_ type: SharedType) -> [TextRun] {
        var runs: [TextRun] = [], units: ContiguousArray<UInt16> = [], marks = MarkList()
        func entries() -> [DocumentValue.Entry] { marks.entries.map { .init(store.contents.name($0.key), store.value($0.mark)) } }
        func flush() {
            guard !units.isEmpty else { return }
            runs.append(TextRun(content: .text(String(utf16: units[...])), marks: entries()))
            units = []
        }
        for block in visible(type, withMarks: true) {
            switch block.kind {
            case .text: units += store.contents.units.elements[block.range]
            case .mark:
                flush()
                store.pass(block, &marks)
            case .embed:
                flush()
                runs.append(TextRun(content: .embed(store.contents.values.elements[Int(block.content)]), marks: entries()))
            case .type:
                flush()
                runs.append(TextRun(content: .type(SharedType(branch: block.content)), marks: entries()))
            default: break
            }
        }
        flush()
        return runs
    }

    /// The values of an array, or the children of XML.
    public func nodes(_ type: SharedType) -> [DocumentNode] {
        visible(type).flatMap { store.nodes(of: $0) }
    }

    /// The keys of a map, or the names of attributes of XML, in the order in which they came.
    public func keys(_ type: SharedType) -> [String] {
        guard has(type) else { return [] }
        let map = store.contents.branches[Int(type.branch)].map
        return map.keys.filter { !store.blocks[Int(map[$0])].isDeleted }.map { store.contents.name($0) }
    }

    /// The value of a key of a map, or of an attribute of XML, or nil if there is none.
    public func node(_ key: String, in type: SharedType) -> DocumentNode? {
        guard has(type), let name = store.contents.knownNumber(ofName: key) else { return nil }
        let last = store.contents.branches[Int(type.branch)].map[name]
        guard last >= 0, !store.blocks[Int(last)].isDeleted else { return nil }
        // A key has one value: the last that its block holds.
        return store.nodes(of: store.blocks[Int(last)]).last
    }

    private func visible(_ type: SharedType, withMarks: Bool = false) -> some Sequence<Block> {
        let first = has(type) ? store.contents.branches[Int(type.branch)].first : -1
        return sequence(state: first) { index in
            while index >= 0 {
                let block = store.blocks[Int(index)]
                index = block.right
                if !block.isDeleted, block.isCountable || (withMarks && block.kind == .mark) { return block }
            }
            return nil
        }
    }
}

extension Store {
    /// What a block holds, unit by unit.
    func nodes(of block: Block) -> [DocumentNode] {
        switch block.kind {
        case .any, .json: contents.values.elements[block.range].map { .value($0) }
        case .text: contents.units.elements[block.range].map { .value(.text(String(utf16: [$0]))) }
        case .binary, .embed: [.value(contents.values.elements[Int(block.content)])]
        case .type: [.type(SharedType(branch: block.content))]
        case .document:
            switch contents.values.elements[Int(block.content)] {
            case .text(let id): [.document(id: id, options: contents.values.elements[Int(block.content) + 1])]
            default: []
            }
        case .collected, .deleted, .mark, .skip: []
        }
    }
}

extension Block {
    /// The places of the content in its pool.
    fileprivate var range: Range<Int> { Int(content)..<Int(content + length) }
}
