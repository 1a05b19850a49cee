import MachineCore
import Testing

@testable import DocumentCore

@Suite struct `Indices and pools of shared documents` {
    @Test(arguments: 1...3) func `blocks are found by their clocks, whatever was cut and joined`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed), index = ClockIndex(), model: [Int32] = []
        for number: Int32 in 0..<600 {
            index.append(number * 10, clock: number * 10)
            model.append(number * 10)
        }
        for step in 0..<3000 {
            let place = Int.random(in: 0..<model.count, using: &random)
            if step % 3 == 0 || step > 2000 {
                // The first block of a client is never joined with one before it.
                guard place > 0 else { continue }
                index.remove(at: index.place(model[place]))
                model.remove(at: place)
            } else {
                let end = place + 1 < model.count ? model[place + 1] : 6000
                guard end - model[place] > 1 else { continue }
                let clock = Int32.random(in: model[place] + 1..<end, using: &random)
                index.insert(clock, clock: clock, after: index.place(clock))
                model.insert(clock, at: place + 1)
            }
            guard step % 50 == 0 else { continue }
            for (number, clock) in model.enumerated() {
                let end = number + 1 < model.count ? model[number + 1] : 6000, place = index.place(end - 1)
                #expect(index[place] == clock && index.clock(at: place) == clock)
                #expect(index.place(after: place).map { index[$0] } == (number + 1 < model.count ? end : nil))
                #expect(index.place(before: place).map { index[$0] } == (number > 0 ? model[number - 1] : nil))
                #expect(index.count(from: place) == model.count - number)
            }
            #expect(Array(index.blocks()) == model && index.last.map { index[$0] } == model.last && index.count == model.count)
        }
    }

    @Test(arguments: 1...3) func `joining contents in a pool changes no other content`(seed: UInt64) {
        var random = SplitMix64(seed: seed), pool = Pool<Int>(), contents: [(start: Int32, values: [Int])] = []
        for step in 0..<3000 {
            if contents.count < 20 || step % 4 == 0 {
                contents.append((pool.append(step), [step]))
            } else {
                // Long ones on the left, and sometimes on the right, too.
                let left = Int.random(in: 0..<min(6, contents.count - 1), using: &random)
                let right = Int.random(in: left + 1..<contents.count, using: &random)
                let (one, other) = (contents[left], contents[right])
                let start = pool.join(one.start, Int32(one.values.count), other.start, Int32(other.values.count))
                contents[left] = (start, one.values + other.values)
                contents.remove(at: right)
            }
            for (start, values) in contents { #expect(Array(pool.elements[Int(start)..<Int(start) + values.count]) == values) }
        }
    }

    @Test func `a content that grows in a pool is moved rarely`() {
        var pool = Pool<Int>()
        var start = pool.append(0)
        for number: Int32 in 1..<2000 {
            let next = pool.append(Int(number))
            _ = pool.append(-1)
            start = pool.join(start, number, next, 1)
        }
        #expect(Array(pool.elements[Int(start)..<Int(start) + 2000]) == Array(0..<2000))
        #expect(pool.elements.count < 16_000)
    }

    // MARK: - Search markers

    /// A document that was edited for long has markers, a copy of it has none.
    @Test func `an edit makes the same update with markers and without`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text)
        for number in 0..<400 {
            try document.insert(number % 2 == 0 ? "ab" : "c", at: 0, in: text, marks: [.init("bold", .bool(number % 2 == 0))])
        }
        for index in stride(from: 0, to: 300, by: 7) { try document.delete(index..<index + 2, in: text) }
        for index in stride(from: 3, to: document.count(text), by: 2) { try document.insert("x", at: index, in: text) }
        _ = document.commit()
        try document.insert("y", at: document.count(text), in: text)
        _ = document.commit()
        #expect(!document.store.markers.isEmpty)
        var plain = document
        plain.store.serveMarkers(-1)
        for index in 0...document.count(text) {
            var one = document, other = plain
            try one.insert("z", at: index, in: text)
            try other.insert("z", at: index, in: text)
            let update = one.commit()
            #expect(update == other.commit(), "at \(index)")
        }
    }

    @Test func `when there are too many markers, every second one goes`() throws {
        var document = SharedDocument(client: 1)
        let list = document.root("list", .array), count = 40_000
        try document.insert((0..<count).map { _ in .type(.map) }, at: 0, in: list)
        let blocks = document.store.contents.branches[Int(list.branch)].length
        #expect(blocks == count)
        for index in stride(from: 34, to: count, by: 34) {
            let position = document.store.position(list.branch, Int32(index))
            #expect(position.index == index)
        }
        let markers = document.store.markers
        #expect(markers.spacing == 64 && (400...1024).contains(markers.blocks.count))
        #expect(Set(document.store.blocks.indices.filter { document.store.blocks[$0].hasMarker }) == Set(markers.blocks.map(Int.init)))
        for number in markers.blocks.indices {
            let (block, index, _) = markers[number]
            // One block a unit, in the order of their making.
            #expect(document.store.blocks[Int(block)].id.clock == index)
        }
    }

    @Test func `a marker that goes takes its marks along`() {
        var markers = SearchMarkers()
        for number: Int32 in 0...1024 {
            var marks = MarkList()
            marks.set(1, number)
            let dropped = markers.insert(number, index: number * 10, marks: marks, after: number > 0 ? Int(number) - 1 : nil)
            #expect(dropped == (number < 1024 ? [] : stride(from: 1, to: 1024, by: 2).map { $0 }))
        }
        for number in markers.blocks.indices {
            let (block, index, marks) = markers[number]
            #expect(block == Int32(number) * 2 && index == block * 10 && marks[1] == block)
        }
        #expect(markers.blocks.count == 513 && markers.number(before: 20) == 0 && markers.number(before: 21) == 1)
        #expect(markers.number(before: 0) == nil)
    }

    @Test func `text far away from every marker is counted`() throws {
        var document = SharedDocument(client: 1)
        let list = document.root("list", .array)
        try document.insert((0..<6000).map { _ in .type(.map) }, at: 0, in: list)
        _ = document.store.position(list.branch, 100)
        #expect(!document.store.markers.isEmpty)
        // More blocks behind the marker than a search for it goes over.
        try document.insert([.value("near")], at: 5000, in: list)
        _ = document.store.position(list.branch, 5900)
        let far = document.store.clients[0].place(5850), block = document.store.clients[0][far]
        document.store.delete(block)
        let nodes = document.nodes(list)
        for index in stride(from: 1, to: 6000, by: 250) {
            let position = document.store.position(list.branch, Int32(index))
            let before = document.store.nodes(of: document.store.blocks[Int(position.left)])
            #expect(before == [nodes[index - 1]], "at \(index)")
        }
    }

    // MARK: - Compaction

    @Test func `a document that drops what it does not need keeps marks, subdocuments and carets`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text), map = document.root("map", .map)
        let link = DocumentValue.object([.init("href", "x")])
        // Marks that no block has: all others move when these go.
        for _ in 0..<50 { _ = document.store.contents.mark(0, "unused") }
        try document.set("sub", to: .document(id: "sub", options: .object([.init("a", 1)])), in: map)
        try document.set("bytes", to: .value(.bytes([1, 2])), in: map)
        for number in 0..<200 {
            let marks: [DocumentValue.Entry] = number % 2 == 0 ? [.init("link", link)] : [.init("bold", .number(Double(number)))]
            try document.insert("ab", at: 0, in: text, marks: marks)
        }
        // An interruption of the link: its mark begins again behind it.
        try document.insert("linked", at: 0, in: text, marks: [.init("link", link)])
        try document.insert("plain", at: 3, in: text, marks: [])
        _ = document.commit()
        let runs = document.runs(text), marks = document.store.contents.branches[Int(text.branch)].marks
        for index in stride(from: 0, to: 400, by: 9) { _ = document.store.position(text.branch, Int32(index)) }
        #expect(!document.store.markers.isEmpty)
        var plain = document
        plain.store.serveMarkers(-1)
        document.store.compactionSize = 1
        document.store.compactIfNeeded()
        #expect(document.runs(text) == runs)
        #expect(document.node("sub", in: map) == .document(id: "sub", options: .object([.init("a", 1)])))
        #expect(document.node("bytes", in: map) == .value(.bytes([1, 2])))
        for index in stride(from: 0, to: 400, by: 3) {
            var one = document, other = plain
            // The marks around the place end and begin again.
            try one.insert("z", at: index, in: text, marks: [.init("italic", true)])
            try other.insert("z", at: index, in: text, marks: [.init("italic", true)])
            let update = one.commit()
            #expect(update == other.commit() && one.runs(text) == other.runs(text), "at \(index)")
        }
        // The two marks around the interruption are one value, and go with it.
        try document.delete(3..<8, in: text)
        #expect(document.store.contents.branches[Int(text.branch)].marks == marks - 2)
    }
}
