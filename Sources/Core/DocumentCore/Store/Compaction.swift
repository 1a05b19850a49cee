extension Store {
    /// Drops texts, values and marks to which no block refers any more, when they may be half of all.
    ///
    /// Deleting a block leaves its content in the pool. So does moving a content to join it with another.
    mutating func compactIfNeeded() {
        let size = contents.units.elements.count + contents.values.elements.count + contents.marks.count
        guard size > compactionSize else { return }
        compact()
        compactionSize = max(2 * (contents.units.elements.count + contents.values.elements.count + contents.marks.count), compactionSize)
    }

    private mutating func compact() {
        serveMarkers(-1)
        var units = Pool<UInt16>(), values = Pool<DocumentValue>(), marks: ContiguousArray<Contents.Mark> = []
        // Blocks that have a mark in common keep it in common, because that makes them the same value.
        var moved: [Int32: Int32] = [:]
        for client in clients {
            for index in client.blocks() {
                let block = blocks[Int(index)], place = Int(block.content)
                switch block.kind {
                case .text:
                    blocks[Int(index)].content = Int32(units.elements.count)
                    units.elements += contents.units.elements[place..<place + Int(block.length)]
                case .any, .json, .binary, .embed, .document:
                    blocks[Int(index)].content = Int32(values.elements.count)
                    values.elements += contents.values.elements[place..<place + Int(block.kind == .document ? 2 : block.length)]
                case .mark:
                    if let new = moved[block.content] {
                        blocks[Int(index)].content = new
                    } else {
                        moved[block.content] = Int32(marks.count)
                        blocks[Int(index)].content = Int32(marks.count)
                        marks.append(contents.marks[place])
                    }
                case .collected, .deleted, .type, .skip: break
                }
            }
        }
        (contents.units, contents.values, contents.marks) = (units, values, marks)
    }
}
