import MachineCore
import Testing

@testable import DocumentCore

@Suite struct `Undo beside the edits of others` {
    private struct Missing: Error {}

    @Test func `the value that another has set stays`() throws {
        var mine = SharedDocument(client: 5), other = SharedDocument(client: 1)
        let map = mine.root("map", .map)
        var undo = DocumentUndo(of: [map], groupingTime: .zero)
        for number in [1, 2] {
            try mine.set("k", to: .value(.number(Double(number))), in: map)
            let update = mine.commit(noting: &undo, at: .start)
            try other.apply(#require(update))
        }
        try other.set("k", to: .value(3), in: other.root("map", .map))
        let theirs = other.commit()
        try mine.apply(#require(theirs))
        _ = undo.undo(&mine)
        #expect(mine.node("k", in: map) == .value(3))
    }

    @Test func `the values of a key come back one by one`() throws {
        var document = SharedDocument(client: 1)
        let map = document.root("map", .map)
        var undo = DocumentUndo(of: [map], groupingTime: .zero)
        for number in 1...4 {
            try document.set("k", to: .value(.number(Double(number))), in: map)
            _ = document.commit(noting: &undo, at: .start)
        }
        for number in [3, 2, 1] {
            _ = undo.undo(&document)
            #expect(document.node("k", in: map) == .value(.number(Double(number))))
        }
        _ = undo.undo(&document)
        #expect(document.node("k", in: map) == nil)
        for number in 1...4 {
            _ = undo.redo(&document)
            #expect(document.node("k", in: map) == .value(.number(Double(number))))
        }
    }

    @Test func `a part of text that was made again twice is taken back alone`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text)
        var undo = DocumentUndo(of: [text], groupingTime: .zero)
        for word in ["abc", "def"] {
            try document.insert(word, at: document.count(text), in: text)
            _ = document.commit(noting: &undo, at: .start)
        }
        try document.delete(0..<6, in: text)
        _ = document.commit(noting: &undo, at: .start)
        _ = undo.undo(&document)
        _ = undo.redo(&document)
        _ = undo.undo(&document)
        #expect(document.text(text) == "abcdef")
        _ = undo.undo(&document)
        #expect(document.text(text) == "abc")
    }

    @Test func `a type that another has deleted does not come back for what it contained`() throws {
        for isForgotten in [false, true] {
            var mine = SharedDocument(client: 1), other = SharedDocument(client: 2)
            let map = mine.root("map", .map), elsewhere = mine.root("elsewhere", .map)
            let inner = try #require(try mine.set("inner", to: .type(.text), in: map))
            let start = mine.commit()
            try other.apply(#require(start))
            var undo = DocumentUndo(of: [map, elsewhere], groupingTime: .zero)
            try mine.insert("abc", at: 0, in: inner)
            let typed = mine.commit(noting: &undo, at: .start)
            let undone = undo.undo(&mine)
            for update in [typed, undone] { try other.apply(#require(update)) }
            if isForgotten {
                // A new edit ends what could be made again, and with it the need for the content.
                try mine.set("k", to: .value(1), in: elsewhere)
                let set = mine.commit(noting: &undo, at: .start)
                try other.apply(#require(set))
            }
            try other.remove("inner", in: other.root("map", .map))
            let removed = other.commit()
            try mine.apply(#require(removed))
            #expect(try (mine.update() == other.update()) == isForgotten)
            _ = undo.redo(&mine)
            #expect(mine.node("inner", in: map) == nil && !mine.has(inner))
        }
    }
}

@Suite struct `Positions and changes in documents that keep what is deleted` {
    @Test func `a position in a type that was deleted is nowhere`() throws {
        var document = SharedDocument(client: 1, keepsDeleted: true)
        let map = document.root("map", .map)
        let inner = try #require(try document.set("k", to: .type(.text), in: map))
        try document.insert("abc", at: 0, in: inner)
        let positions = [
            try document.position(at: 1, in: inner), try document.position(at: 3, in: inner),
            try document.position(at: 0, in: inner, holdingOnTo: .before),
        ]
        #expect(positions.allSatisfy { document.index(of: $0)?.type == inner })
        try document.remove("k", in: map)
        #expect(positions.allSatisfy { document.index(of: $0) == nil })
    }

    @Test func `changes name neither what was deleted before nor what follows the last change`() throws {
        var document = SharedDocument(client: 1, keepsDeleted: true)
        document.observesChanges = true
        let text = document.root("text", .text)
        try document.insert("abcdef", at: 0, in: text)
        _ = document.commit()
        try document.delete(1..<3, in: text)
        _ = document.commit()
        #expect(document.changes == [DocumentChange(type: text, steps: [.retain(1), .delete(2)])])
        try document.insert("x", at: 2, in: text)
        _ = document.commit()
        #expect(document.changes == [DocumentChange(type: text, steps: [.retain(2), .text("x")])])
    }
}
