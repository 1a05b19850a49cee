import Testing

@testable import DocumentCore

@Suite struct `Updates that wait for others` {
    @Test func `of a block that is known in part, only the rest is new`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2)
        let text = author.root("text", .text)
        try author.insert("abc", at: 0, in: text)
        try reader.apply(committed(&author))
        try author.insert("de🙂f", at: 3, in: text)
        _ = author.commit()
        try reader.apply(author.update())
        #expect(reader.text(reader.root("text", .text)) == "abcde🙂f")
    }

    @Test func `a deletion in a text takes effect while a block of its update waits`() throws {
        var author = SharedDocument(client: 1), other = SharedDocument(client: 3), reader = SharedDocument(client: 2)
        let text = author.root("text", .text)
        try author.insert("abc", at: 0, in: text)
        let start = try committed(&author)
        try reader.apply(start)
        try other.apply(start)
        try other.insert("z", at: 3, in: other.root("text", .text))
        try author.apply(committed(&other))
        // The new text stands between the c, which is here and goes, and the z, which is not here yet.
        try author.insert("x", at: 3, in: text)
        try author.delete(0..<3, in: text)
        try reader.apply(committed(&author))
        #expect(reader.isPending && reader.text(reader.root("text", .text)).isEmpty)
    }

    @Test func `an old value stays until the new one is here, whatever else comes`() throws {
        var author = SharedDocument(client: 1), other = SharedDocument(client: 3), reader = SharedDocument(client: 2)
        let map = author.root("map", .map), copy = reader.root("map", .map)
        try author.set("k", to: .value(1), in: map)
        try reader.apply(committed(&author))
        try author.set("other", to: .value(0), in: map)
        let between = try committed(&author)
        try author.set("k", to: .value(2), in: map)
        try reader.apply(committed(&author))
        try other.set("unrelated", to: .value(0), in: other.root("map", .map))
        try reader.apply(committed(&other))
        #expect(reader.node("k", in: copy) == .value(1) && reader.isPending)
        // Who gets the state of the reader waits for the same.
        var third = SharedDocument(client: 4)
        try third.apply(reader.update())
        for (number, document) in [reader, third].enumerated() {
            var document = document
            try document.apply(between)
            #expect(document.node("k", in: document.root("map", .map)) == .value(2) && !document.isPending, "\(number)")
            #expect(try document.update() == applied([author.update(), other.update()]).update(), "\(number)")
        }
    }

    @Test func `a deletion that waits for its units is passed on`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2), third = SharedDocument(client: 3)
        let text = author.root("text", .text)
        try author.insert("abc", at: 0, in: text)
        let typed = try committed(&author)
        try author.delete(1..<2, in: text)
        try reader.apply(committed(&author))
        try third.apply(reader.update())
        try third.apply(typed)
        #expect(!third.isPending && third.text(third.root("text", .text)) == "ac")
    }

    @Test func `the same update waits once, however often it comes`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2)
        let text = author.root("text", .text)
        try author.insert("abc", at: 0, in: text)
        _ = author.commit()
        try author.insert("def", at: 3, in: text)
        let second = try committed(&author)
        reader.maximumPending = 3
        for _ in 0..<10 { try reader.apply(second) }
        #expect(reader.isPending)
    }

    @Test func `what waits is not sent to those who have it`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2)
        let text = author.root("text", .text)
        try author.insert("abc", at: 0, in: text)
        _ = author.commit()
        try author.insert("def", at: 3, in: text)
        try reader.apply(committed(&author))
        #expect(try reader.update(since: author.stateVector) == [0, 0])
        #expect(try reader.update(since: reader.stateVector) != [0, 0])
    }

    @Test func `a text that waits survives that the document drops what it does not need`() throws {
        var author = SharedDocument(client: 1), other = SharedDocument(client: 3), reader = SharedDocument(client: 2)
        let text = author.root("text", .text), theirs = other.root("other", .text)
        reader.store.compactionSize = 500
        try author.insert("first ", at: 0, in: text)
        let first = try committed(&author)
        try author.insert("second", at: 6, in: text)
        let second = try committed(&author)
        for step in 0..<200 {
            if step == 50 { try reader.apply(second) }
            try other.insert("0123456789", at: 0, in: theirs)
            try reader.apply(committed(&other))
            try other.delete(0..<10, in: theirs)
            try reader.apply(committed(&other))
        }
        try reader.apply(first)
        #expect(reader.text(reader.root("text", .text)) == "first second")
    }

    @Test func `a deletion of units that this copy never made shows that its identity is taken`() throws {
        var document = SharedDocument(client: 1)
        try document.apply([0, 1, 1, 1, 0, 3])
        #expect(document.isClientTaken)
    }

    private func committed(_ document: inout SharedDocument) throws -> [UInt8] {
        let update = document.commit()
        return try #require(update)
    }

    private func applied(_ updates: [[UInt8]]) throws -> SharedDocument {
        var document = SharedDocument(client: 99)
        for update in updates { try document.apply(update) }
        return document
    }
}
