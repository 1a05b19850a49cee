import Testing

@testable import DocumentCore

@Suite struct `Updates of shared documents without a document` {
    /// Two updates of a client that overlap in the middle of a block.
    @Test(arguments: UpdateVersion.allCases) func `blocks that overlap are cut and merged`(version: UpdateVersion) throws {
        var author = SharedDocument(client: 1)
        let text = author.root("text", .text), list = author.root("list", .array)
        try author.insert("abc", at: 0, in: text)
        let first = author.commit(version), vector = author.stateVector
        try author.insert("def", at: 3, in: text)
        _ = author.commit()
        try author.insert([.value(1), .value(2), .value(3)], at: 0, in: list)
        let between = author.stateVector
        try author.insert([.value(4)], at: 3, in: list)
        _ = author.commit()
        let whole = try author.update(version), rest = try author.update(since: vector, version)
        // The whole has one block for abcdef: of it, the part behind abc is cut.
        #expect(try DocumentUpdate.difference(whole, since: vector, version) == rest)
        #expect(try DocumentUpdate.difference(whole, since: between, version) == author.update(since: between, version))
        let merged = try DocumentUpdate.merge([#require(first), rest], version)
        let other = try DocumentUpdate.merge([DocumentUpdate.difference(whole, since: vector, version), whole], version)
        for update in [merged, other] {
            var copy = SharedDocument(client: 2)
            try copy.apply(update, version)
            #expect(copy.text(copy.root("text", .text)) == "abcdef" && copy.nodes(copy.root("list", .array)).count == 4)
            #expect(try copy.update(version) == whole)
        }
        // A block that begins within another one and is longer.
        var late = SharedDocument(client: 3), part = SharedDocument(client: 4)
        let start = try #require(first), end = try DocumentUpdate.difference(whole, since: [1, 1, 1], version)
        try late.apply(DocumentUpdate.merge([end, start], version), version)
        #expect(late.text(late.root("text", .text)) == "abcdef")
        try part.apply(DocumentUpdate.merge([start, end], version), version)
        #expect(try part.update() == late.update())
    }

    @Test func `clients stand in descending order of their identity`() throws {
        var documents = [3, 1, 100, 2].map { SharedDocument(client: $0) }
        var updates: [[UInt8]] = []
        for index in documents.indices {
            let list = documents[index].root("list", .array)
            try documents[index].insert([.value(1), .value(2)], at: 0, in: list)
            try documents[index].delete(0..<1, in: list)
            let update = documents[index].commit()
            updates.append(try #require(update))
        }
        let merged = try DocumentUpdate.merge(updates)
        var copy = SharedDocument(client: 9)
        try copy.apply(merged)
        #expect(try copy.update() == merged)
        // Behind their number, blocks of clients begin with the count, the client and the clock; deletions with the client.
        #expect(Array(merged.prefix(4)) == [4, 2, 100, 0])
        let vector: [UInt8] = [4, 100, 2, 3, 2, 2, 2, 1, 2]
        #expect(try DocumentUpdate.stateVector(of: merged) == vector && copy.stateVector == vector)
        #expect(Array(merged.suffix(17)) == [4, 100, 1, 0, 1, 3, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1])
    }

    @Test func `a name that repeats may be written as the number of the one before`() throws {
        // Version 2, three marks: the keys are a new name, another new name, and the second one again.
        var keys = DifferenceRunWriter(), infos = ByteRunWriter(), strings = StringRunWriter(), parents = ByteRunWriter()
        for number: Int64 in [0, 1, 1] { keys.write(number) }
        for _ in 0..<3 { infos.write(6) }
        for text in ["text", "a", "text", "b", "text"] { strings.write(text) }
        for _ in 0..<3 { parents.write(1) }
        var clients = NumberRunWriter(), out = Lib0Writer()
        clients.write(7)
        out.uint(0 as Int)
        for column in [keys.finish(), clients.finish(), [], [], infos.bytes, strings.finish(), parents.bytes, [], []] {
            out.byteString(column)
        }
        out.bytes += [1, 3, 0, 120, 120, 120, 0]
        var document = SharedDocument(client: 1)
        try document.apply(out.bytes, .v2)
        let names = document.store.contents.marks.map { document.store.contents.name($0.key) }
        #expect(names == ["a", "b", "b"])
    }

    @Test func `a hostile run of differences ends before it leaves the numbers`() throws {
        // 2^52 and a count: each step adds as much.
        var out = Lib0Writer()
        out.int(1 << 52 + 1, isNegative: false)
        out.uint(100_000 as Int)
        var reader = DifferenceRunReader(Lib0Reader(out.bytes))
        #expect(throws: DocumentError.self) { for _ in 0..<100_000 { _ = try reader.read() } }
    }
}
