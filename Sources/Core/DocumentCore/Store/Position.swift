/// A place between two blocks of a list.
struct Position {
    var branch: Int32
    /// The block before the place, or −1 at the start.
    var left: Int32 = -1
    /// The number of visible units before the place.
    var index: Int32 = 0
    var marks = MarkList()
}

extension Store {
    func right(of position: Position) -> Int32 {
        position.left < 0 ? contents.branches[Int(position.branch)].first : blocks[Int(position.left)].right
    }

    /// Moves a place over the block to its right.
    func step(_ position: inout Position, over right: Int32) {
        let block = blocks[Int(right)]
        if block.kind == .mark, !block.isDeleted { pass(block, &position.marks) }
        position.index += block.visibleLength
        position.left = right
    }

    /// The leftmost place with `index` visible units before it. Cuts a block that lies across it.
    mutating func position(_ branch: Int32, _ index: Int32) -> Position {
        var position = resume(branch, index) ?? Position(branch: branch)
        while position.index < index {
            let right = right(of: position)
            guard right >= 0 else { break }
            let block = blocks[Int(right)]
            if block.visibleLength > index - position.index {
                let offset = index - position.index
                _ = blockStarting(with: BlockID(client: block.id.client, clock: block.id.clock + offset))
            }
            step(&position, over: right)
        }
        cursor = Cursor(branch: branch, left: position.left, index: position.index, marks: position.marks)
        return position
    }

    /// The place that was found last, moved left as far as needed. Nil if the start of the list is nearer.
    private func resume(_ branch: Int32, _ index: Int32) -> Position? {
        guard let cursor, cursor.branch == branch, index >= cursor.index / 2 else { return nil }
        var position = Position(branch: branch, left: cursor.left, index: cursor.index, marks: cursor.marks)
        // Also at the same index: only behind a visible block is the place the leftmost.
        while position.left >= 0, position.index >= index {
            let block = blocks[Int(position.left)]
            if position.index == index, block.visibleLength > 0 { break }
            // The marks before a mark are known only from the start on.
            if block.kind == .mark, !block.isDeleted { return nil }
            position.index -= block.visibleLength
            position.left = block.left
        }
        return position
    }
}
