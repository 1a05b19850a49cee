// Edits of arrays, of children of XML, of maps and of attributes (Yjs: AbstractType.js).

extension SharedDocument {
    /// Inserts values and new types into an array or among the children of XML.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone or the index lies outside.
    public mutating func insert(_ nodes: [NewNode], at index: Int, in type: SharedType) throws(DocumentError) {
        try check(type, .list, upTo: index)
        try checkRoom(for: 2 * nodes.count)
        let position = store.position(type.branch, Int32(index)), right = store.right(of: position)
        var left = position.left, values: [DocumentValue] = []
        // Plain values in a row share a block.
        func flush(_ document: inout SharedDocument) {
            guard !values.isEmpty else { return }
            let start = Int32(document.store.contents.values.elements.count)
            document.store.contents.values.elements.append(contentsOf: values)
            left = document.insert(.any, content: start, length: Int32(values.count), between: left, right, in: type.branch)
            values = []
        }
        for node in nodes {
            if case .value(let value) = node, !value.isBytes {
                values.append(value)
            } else {
                flush(&self)
                let (kind, content) = content(node)
                left = insert(kind, content: content, between: left, right, in: type.branch)
            }
        }
        flush(&self)
    }

    /// Deletes a range of an array, of the children of XML, or of a text together with marks that have nothing left to apply to.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone or the range lies outside.
    public mutating func delete(_ range: Range<Int>, in type: SharedType) throws(DocumentError) {
        try check(type, upTo: range.upperBound)
        guard range.lowerBound >= 0 else { throw DocumentError(.outOfRange) }
        guard !range.isEmpty else { return }
        var position = store.position(type.branch, Int32(range.lowerBound))
        if kind(of: type)?.isText == true { return delete(Int32(range.count), at: &position) }
        var left = Int32(range.count), index = store.right(of: position)
        while left > 0, index >= 0 {
            let block = store.blocks[Int(index)]
            if !block.isDeleted {
                if left < block.length {
                    _ = store.blockStarting(with: BlockID(client: block.id.client, clock: block.id.clock + left))
                }
                left -= store.blocks[Int(index)].length
                store.delete(index)
            }
            index = store.blocks[Int(index)].right
        }
    }

    /// Sets the value of a key of a map, or an attribute of XML.
    ///
    /// Returns the new type if the node is one.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone.
    @discardableResult public mutating func set(_ key: String, to node: NewNode, in type: SharedType) throws(DocumentError) -> SharedType? {
        try check(type, .keys)
        try checkRoom(for: 2)
        let name = store.contents.number(ofName: key), (kind, content) = content(node)
        insert(kind, content: content, between: store.contents.branches[Int(type.branch)].map[name], -1, in: type.branch, key: name)
        return kind == .type ? SharedType(branch: content) : nil
    }

    /// Removes a key of a map, or an attribute of XML.
    ///
    /// Nothing happens if there is none.
    ///
    /// - Throws: A ``DocumentError`` if the type is gone.
    public mutating func remove(_ key: String, in type: SharedType) throws(DocumentError) {
        try check(type, .keys)
        guard let name = store.contents.knownNumber(ofName: key) else { return }
        let last = store.contents.branches[Int(type.branch)].map[name]
        if last >= 0 { store.delete(last) }
    }

    private mutating func content(_ node: NewNode) -> (ContentKind, Int32) {
        switch node {
        case .value(let value): return (value.isBytes ? .binary : .any, store.contents.values.append(value))
        case .type(let kind, let name):
            var branch = Branch(kind: kind)
            if kind.hasName { branch.name = store.contents.number(ofName: name) }
            store.contents.branches.append(branch)
            return (.type, Int32(store.contents.branches.count - 1))
        case .document(let id, let options):
            let content = store.contents.values.append(.text(id))
            _ = store.contents.values.append(options)
            return (.document, content)
        }
    }
}

extension DocumentValue {
    fileprivate var isBytes: Bool { if case .bytes = self { true } else { false } }
}
