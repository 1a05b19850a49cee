import CodecCore
import Testing

@testable import DocumentCore

@Suite struct `Shared documents` {
    // MARK: - Bad input

    /// Every prefix of an update, and every update with one byte changed, is refused or taken.
    ///
    /// A refused one changes nothing.
    @Test(arguments: UpdateVersion.allCases) func `a bad update leaves the document as it was`(version: UpdateVersion) throws {
        let vectors = try Vectors.lines("updates").prefix(4)
        for vector in vectors {
            let whole = vector["full"]?.bytes(version) ?? []
            var document = SharedDocument(client: 1)
            let text = document.root("text", .text)
            try document.insert("here before", at: 0, in: text)
            _ = document.commit()
            let state = try document.update(), contents = document.store.contents.checkpoint
            for end in 0..<whole.count {
                var copy = document
                guard throwsError({ try copy.apply(Array(whole[..<end]), version) }) else { continue }
                #expect(try copy.update() == state && copy.store.contents.checkpoint == contents)
            }
            for place in whole.indices {
                var copy = document, bytes = whole
                bytes[place] ^= 0x15
                if throwsError({ try copy.apply(bytes, version) }) {
                    #expect(try copy.update() == state && copy.store.contents.checkpoint == contents)
                } else {
                    _ = try copy.update()
                }
            }
        }
    }

    private func throwsError(_ body: () throws -> Void) -> Bool {
        do { try body() } catch { return true }
        return false
    }

    @Test(arguments: [
        // An item that has itself, or a later unit of its client, as its origin, its right origin or its parent.
        ("01010000840000016100", DocumentError.Code.impossibleReference), ("01010000440005016100", .impossibleReference),
        ("01010000040000000161", .impossibleReference),
        // Contents and types that nobody knows.
        ("010101000b01047465787400", .unknownContent), ("0101010007010474657874" + "09" + "00", .unknownType),
        // Clocks that leave no room, a block of no length, and more blocks than there are bytes.
        ("0101010000feffffff0700", .tooLarge), ("010101ffffffff0f0001", .tooLarge), ("01010100000000", .malformed),
        ("01010100040104746578740000", .malformed),
        ("ffffff7f", .truncated), ("01ffffff7f0100", .tooLarge),
        // A mark whose value is not JSON.
        ("010101000601047465787401620178" + "00", .invalidJSON),
    ]) func `impossible updates are refused by name`(hex: String, code: DocumentError.Code) {
        var document = SharedDocument(client: 9)
        let error = #expect(throws: DocumentError.self) { try document.apply([UInt8](hex: hex)) }
        #expect(error?.code == code, "\(hex)")
        #expect(document.blockCount == 0)
    }

    @Test func `columns that ask for millions of blocks are refused`() {
        // Version 2: one client with 2^31 blocks, all columns one endless run.
        let hex = "00" + "00" + "0101" + "00" + "00" + "0100" + "0100" + "00" + "00" + "0101" + "01" + "ffffffff07" + "00" + "00"
        var document = SharedDocument(client: 9)
        let error = #expect(throws: DocumentError.self) { try document.apply([UInt8](hex: hex), .v2) }
        #expect(error?.code == .tooLarge)
    }

    @Test func `thousands of clients may wait for one`() throws {
        // 3,000 clients have a block each that needs a unit of client 9, which come at the end, one block each.
        var update = Lib0Writer()
        update.uint(3001 as Int)
        for client in 0..<3000 {
            update.bytes += [1]
            update.uint(client + 10)
            update.bytes += [0, 0x84, 9]
            update.uint(client)
            update.string("x")
        }
        update.uint(3000 as Int)
        update.bytes += [9, 0, 4, 1]
        update.string("text")
        update.string("a")
        for clock in 0..<2999 {
            update.bytes += [0x84, 9]
            update.uint(clock)
            update.string("b")
        }
        update.bytes += [0]
        var document = SharedDocument(client: 1)
        try document.apply(update.bytes)
        #expect(!document.isPending && document.text(document.root("text", .text)).utf16.count == 6000)
    }

    @Test func `a small state of many equal blocks is read`() throws {
        var document = SharedDocument(client: 1), copy = SharedDocument(client: 2)
        let list = document.root("list", .array)
        try document.insert(Array(repeating: .type(.map), count: 20_000), at: 0, in: list)
        let state = document.commit(.v2)
        #expect(try #require(state).count < 100)
        try copy.apply(#require(state), .v2)
        #expect(copy.count(copy.root("list", .array)) == 20_000)
    }

    @Test func `edits outside of a type, or of a type that is gone, are refused`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text), map = document.root("map", .map)
        let inner = try #require(try document.set("a", to: .type(.text), in: map))
        try document.insert("abc", at: 0, in: text)
        #expect(throws: DocumentError(.outOfRange)) { try document.insert("x", at: 4, in: text) }
        #expect(throws: DocumentError(.outOfRange)) { try document.insert("x", at: -1, in: text) }
        #expect(throws: DocumentError(.outOfRange)) { try document.delete(2..<4, in: text) }
        #expect(throws: DocumentError(.outOfRange)) { try document.format(-1..<2, in: text, marks: []) }
        #expect(throws: DocumentError(.outOfRange)) { try document.apply([.delete(-1)], to: text) }
        #expect(throws: DocumentError(.outOfRange)) { try document.apply([.retain(1 << 31)], to: text) }
        #expect(throws: DocumentError(.wrongType)) { try document.insert([.value(1)], at: 0, in: text) }
        #expect(throws: DocumentError(.wrongType)) { try document.set("k", to: .value(1), in: text) }
        #expect(throws: DocumentError(.wrongType)) { try document.insert("x", at: 0, in: map) }
        try document.remove("a", in: map)
        #expect(!document.has(inner) && document.text(inner).isEmpty)
        #expect(throws: DocumentError(.noSuchType)) { try document.insert("x", at: 0, in: inner) }
        #expect(document.text(text) == "abc")
    }

    // MARK: - Updates that wait

    @Test func `a deletion waits for the new value that came with it`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2)
        let map = author.root("map", .map), copy = reader.root("map", .map)
        try author.set("k", to: .value(1), in: map)
        let first = author.commit()
        try reader.apply(#require(first))
        try author.set("other", to: .value(0), in: map)
        let between = author.commit()
        try author.set("k", to: .value(2), in: map)
        let second = author.commit()
        try reader.apply(#require(second))
        #expect(reader.node("k", in: copy) == .value(1) && reader.isPending)
        try reader.apply(#require(between))
        #expect(reader.node("k", in: copy) == .value(2) && !reader.isPending)
    }

    @Test func `only deletions of values that are about to be replaced wait`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2)
        let text = author.root("text", .text)
        try author.insert("abc", at: 0, in: text)
        try author.delete(0..<3, in: text)
        _ = author.commit()
        // A block of client 7 that needs one of client 99.
        try author.apply([UInt8](hex: "01010700846300017800"))
        #expect(author.isPending)
        try reader.apply(author.update())
        #expect(reader.isPending && reader.text(reader.root("text", .text)).isEmpty)
    }

    @Test func `a block that waits hides nothing that is here from a new copy`() throws {
        var document = SharedDocument(client: 1), copy = SharedDocument(client: 2)
        let text = document.root("text", .text)
        try document.insert("!", at: 0, in: text)
        try document.insert("a block from clock 1 on", at: 0, in: text)
        _ = document.commit()
        // A longer block of client 1 from clock 1 on, which needs a unit of client 3.
        try document.apply([UInt8](hex: "01010101810302" + "6400"))
        #expect(document.isPending)
        try copy.apply(document.update())
        #expect(copy.text(copy.root("text", .text)) == "a block from clock 1 on!")
    }

    @Test func `what waits is part of the state that others get, and not kept twice`() throws {
        var author = SharedDocument(client: 1), reader = SharedDocument(client: 2), third = SharedDocument(client: 3)
        let text = author.root("text", .text)
        var updates: [[UInt8]] = []
        for word in ["one ", "two ", "three "] {
            try author.insert(word, at: author.count(text), in: text)
            let update = author.commit()
            updates.append(try #require(update))
        }
        try reader.apply(updates[2])
        let size = reader.store.contents.checkpoint
        for _ in 0..<10 { try reader.apply(updates[2]) }
        #expect(reader.store.contents.checkpoint == size && reader.isPending)
        for version in UpdateVersion.allCases {
            var third = third
            try third.apply(reader.update(since: nil, version), version)
            try third.apply(updates[0])
            try third.apply(updates[1])
            #expect(!third.isPending && third.text(third.root("text", .text)) == "one two three ")
        }
        reader.maximumPending = 1
        #expect(throws: DocumentError(.tooLarge)) { try reader.apply(updates[1]) }
        try third.apply(DocumentUpdate.merge(updates.reversed()))
        #expect(third.text(third.root("text", .text)) == "one two three ")
    }

    @Test func `edits that nobody committed are in the next commit`() throws {
        var mine = SharedDocument(client: 1), other = SharedDocument(client: 2)
        let text = mine.root("text", .text), theirs = other.root("text", .text)
        try other.insert("!", at: 0, in: theirs)
        let update = other.commit()
        for version in UpdateVersion.allCases {
            var mine = mine, copy = SharedDocument(client: 3)
            try mine.insert("a", at: 0, in: text)
            try mine.apply(#require(update))
            try mine.insert("b", at: 1, in: text)
            let all = mine.commit(version)
            try copy.apply(#require(all), version)
            try copy.apply(#require(update))
            #expect(copy.text(copy.root("text", .text)) == mine.text(text))
        }
    }

    @Test func `an update that is known ends a transaction without harm`() throws {
        var documents = [SharedDocument(client: 1), SharedDocument(client: 2)]
        let texts = documents.indices.map { documents[$0].root("text", .text) }
        var updates: [[UInt8]] = []
        for step in 0..<40 {
            // Each goes on behind its own text, so that texts lie scattered, and move when they are joined.
            let author = step % 2
            try documents[author].insert("x\(author)", at: author == 0 ? step : documents[1].count(texts[1]), in: texts[author])
            if step == 39 { break }
            let update = documents[author].commit()
            updates.append(try #require(update))
            try documents[1 - author].apply(updates[step])
        }
        try documents[1].apply(updates[0])
        let text = documents[1].text(texts[1]), last = documents[1].commit()
        try documents[0].apply(#require(last))
        #expect(documents[0].text(texts[0]) == text && text.utf16.count == 80)
    }

    @Test func `a copy notices that another has its identity`() throws {
        var mine = SharedDocument(client: 1), twin = SharedDocument(client: 1)
        let text = mine.root("text", .text)
        try twin.insert("x", at: 0, in: twin.root("text", .text))
        let update = twin.commit()
        try mine.apply(#require(update))
        #expect(mine.isClientTaken)
        mine.rename(to: 77)
        try mine.insert("y", at: 1, in: text)
        let next = mine.commit()
        try twin.apply(#require(next))
        #expect(!mine.isClientTaken && twin.text(twin.root("text", .text)) == "xy")
    }

    // MARK: - Texts

    @Test func `names that only look alike are two names`() throws {
        var document = SharedDocument(client: 1), copy = SharedDocument(client: 2)
        let map = document.root("map", .map)
        try document.set("\u{E9}", to: .value(1), in: map)
        try document.set("e\u{301}", to: .value(2), in: map)
        let update = document.commit()
        try copy.apply(#require(update))
        let theirs = copy.root("map", .map)
        #expect(
            copy.keys(theirs).count == 2 && copy.node("\u{E9}", in: theirs) == .value(1) && copy.node("e\u{301}", in: theirs) == .value(2))
    }

    /// The search for an index uses markers; an array of units does not.
    @Test(arguments: 1...4) func `a text of many blocks is what an array would be`(seed: UInt64) throws {
        var random = seed
        func below(_ count: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % count
        }
        var documents = [SharedDocument(client: 5), SharedDocument(client: 6)], model: [Character] = []
        let texts = documents.indices.map { documents[$0].root("text", .text) }, other = documents[0].root("other", .text)
        for step in 0..<3000 {
            let author = step % 97 < 60 ? 0 : 1
            if step % 500 == 499 { try documents[0].insert("elsewhere", at: 0, in: other) }
            if model.count > 20, below(3) == 0 {
                let start = below(model.count - 4), range = start..<start + 1 + below(4)
                try documents[author].delete(range, in: texts[author])
                model.removeSubrange(range)
            } else {
                let at = below(model.count + 1), word = ["x", "yz", "long word "][below(3)]
                try documents[author].insert(word, at: at, in: texts[author])
                model.insert(contentsOf: word, at: at)
            }
            if step % 7 == 0, !model.isEmpty {
                let start = below(model.count)
                try documents[author].format(start..<start + 1, in: texts[author], marks: [.init("bold", .bool(step % 2 == 0))])
            }
            if let update = documents[author].commit() { try documents[1 - author].apply(update) }
        }
        for index in documents.indices { #expect(documents[index].text(texts[index]) == String(model)) }
        #expect(documents[0].text(other).hasPrefix("elsewhere"))
    }

    @Test func `a document that is edited for long does not keep what was deleted`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text), map = document.root("map", .map)
        document.store.compactionSize = 1000
        for _ in 0..<1000 {
            try document.insert("0123456789", at: 0, in: text)
            _ = document.commit()
            try document.delete(0..<10, in: text)
            _ = document.commit()
        }
        for step in 0..<2000 {
            try document.set("k", to: .value(.number(Double(step))), in: map)
            _ = document.commit()
        }
        let contents = document.store.contents
        // 10,000 units and 2,000 values came.
        #expect(contents.units.elements.count + contents.values.elements.count < 3000)
        #expect(document.text(text).isEmpty && document.node("k", in: map) == .value(1999))
        #expect(document.blockCount < 10)
    }

    @Test func `text that two type in turns is joined, and stays in little memory`() throws {
        var documents = [SharedDocument(client: 1), SharedDocument(client: 2)]
        let texts = documents.indices.map { documents[$0].root("text", .text) }
        try documents[0].insert("- -", at: 0, in: texts[0])
        let start = documents[0].commit()
        try documents[1].apply(#require(start))
        for step in 0..<4000 {
            // Each types at the end of what it typed before.
            let author = step % 2, at = author == 0 ? 1 + step / 2 : documents[1].count(texts[1])
            try documents[author].insert(author == 0 ? "a" : "b", at: at, in: texts[author])
            let update = documents[author].commit()
            try documents[1 - author].apply(#require(update))
        }
        for index in documents.indices {
            #expect(
                documents[index].text(texts[index]) == "-" + String(repeating: "a", count: 2000) + " -"
                    + String(repeating: "b", count: 2000))
            #expect(documents[index].blockCount == 4)
            #expect(documents[index].store.contents.units.elements.count < 40_000)
        }
    }
}
