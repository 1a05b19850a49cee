extension SharedDocument {
    /// The text without marks and embeds.
    public func text(_ type: SharedType) -> String {
        var units: ContiguousArray<UInt16> = []
        for block in visible(type) where block.kind == .text { units += store.contents.units.elements[block.range] }
        return String(decoding: units, as: UTF16.self)
    }

    /// The text with its marks, embeds and types.
    public func runs(_ type: SharedType) -> [TextRun] {
        var runs: [TextRun] = [], units: ContiguousArray<UInt16> = [], marks = MarkList()
        func entries() -> [DocumentValue.Entry] { marks.entries.map { .init(store.contents.names[$0.key], store.value($0.mark)) } }
        func flush() {
            guard !units.isEmpty else { return }
            runs.append(TextRun(content: .text(String(decoding: units, as: UTF16.self)), marks: entries()))
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
        var nodes: [DocumentNode] = []
        for block in visible(type) {
            if block.kind == .any || block.kind == .json {
                nodes += store.contents.values.elements[block.range].map { .value($0) }
            } else if block.kind == .text {
                nodes += store.contents.units.elements[block.range].map { .value(.text(String(decoding: [$0], as: UTF16.self))) }
            } else if let node = lastNode(block) {
                nodes.append(node)
            }
        }
        return nodes
    }

    /// The keys of a map, or the names of attributes of XML, in the order in which they came.
    public func keys(_ type: SharedType) -> [String] {
        guard has(type) else { return [] }
        let map = store.contents.branches[Int(type.branch)].map
        return map.keys.filter { !store.blocks[Int(map[$0])].isDeleted }.map { store.contents.names[$0] }
    }

    /// The value of a key of a map, or of an attribute of XML, or nil if there is none.
    public func node(_ key: String, in type: SharedType) -> DocumentNode? {
        guard has(type), let name = store.contents.names.number(of: key) else { return nil }
        let last = store.contents.branches[Int(type.branch)].map[name]
        guard last >= 0, !store.blocks[Int(last)].isDeleted else { return nil }
        return lastNode(store.blocks[Int(last)])
    }

    /// The last value that a block holds.
    private func lastNode(_ block: Block) -> DocumentNode? {
        switch block.kind {
        case .any, .json: .value(store.contents.values.elements[Int(block.content + block.length - 1)])
        case .binary, .embed: .value(store.contents.values.elements[Int(block.content)])
        case .type: .type(SharedType(branch: block.content))
        case .document: document(block)
        case .text: .value(.text(String(decoding: store.contents.units.elements[block.range].suffix(1), as: UTF16.self)))
        default: nil
        }
    }

    private func document(_ block: Block) -> DocumentNode {
        guard case .text(let id) = store.contents.values.elements[Int(block.content)] else { return .value(.undefined) }
        return .document(id: id, options: store.contents.values.elements[Int(block.content) + 1])
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

extension Block {
    /// The places of the content in its pool.
    fileprivate var range: Range<Int> { Int(content)..<Int(content + length) }
}
