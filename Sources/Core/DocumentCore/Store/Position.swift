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

    /// The leftmost place with `index` visible units before it.
    ///
    /// Cuts a block that lies across it.
    mutating func position(_ branch: Int32, _ index: Int32) -> Position {
        if markers.branch != branch { serveMarkers(branch) }
        var position = Position(branch: branch), steps = 0
        let number = markers.number(before: index)
        if let number {
            let (block, start, marks) = markers[number]
            position = Position(branch: branch, left: blocks[Int(block)].left, index: start, marks: marks)
        }
        while position.index < index {
            let right = right(of: position)
            guard right >= 0 else { break }
            let block = blocks[Int(right)]
            steps += 1
            if block.visibleLength >= index - position.index {
                let offset = index - position.index
                if offset < block.length { _ = blockStarting(with: BlockID(client: block.id.client, clock: block.id.clock + offset)) }
                if steps > markers.spacing {
                    let dropped = markers.insert(right, index: position.index, marks: position.marks, after: number)
                    blocks[Int(right)].hasMarker = true
                    for block in dropped { blocks[Int(block)].hasMarker = false }
                }
            }
            step(&position, over: right)
        }
        return position
    }
}
