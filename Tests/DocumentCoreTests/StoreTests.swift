import MachineCore
import Testing

@testable import DocumentCore

@Suite struct `Blocks of shared documents` {
    // MARK: - Hostile updates

    @Test func `a block between two lists is in neither`() throws {
        var document = SharedDocument(client: 9)
        // "ab" in one root, "cd" in another, and an x between them.
        try document.apply([UInt8](hex: "010307000401016102616204010162026364c4070107020178" + "00"))
        #expect(document.text(document.root("a", .text)) == "ab" && document.text(document.root("b", .text)) == "cd")
        try expectSameCopy(document)
    }

    @Test func `a block that continues another in a different list is in none`() throws {
        var document = SharedDocument(client: 9)
        try document.apply([UInt8](hex: "0101070004010161026162" + "00"))
        try document.apply([UInt8](hex: "010107000401016204" + "61626364" + "00"))
        #expect(document.text(document.root("a", .text)) == "ab" && document.text(document.root("b", .text)).isEmpty)
        try expectSameCopy(document)
    }

    @Test func `a block between what was deleted for good and a list that stays is in none`() throws {
        var document = SharedDocument(client: 9)
        // Two units of which nothing is left, "ab", and an x behind the first that stands before the a.
        try document.apply([UInt8](hex: "0103070000020401016102" + "6162" + "c4070107020178" + "00"))
        let text = document.root("a", .text)
        #expect(document.text(text) == "ab" && document.count(text) == 2)
        try expectSameCopy(document)
    }

    // MARK: - Deleting, joining and cutting

    @Test func `what comes into a type that was deleted is deleted`() throws {
        var one = SharedDocument(client: 1, keepsDeleted: true), other = SharedDocument(client: 2, keepsDeleted: true)
        let map = one.root("map", .map)
        try one.set("k", to: .type(.text), in: map)
        let start = one.commit()
        try other.apply(#require(start))
        guard case .type(let inner)? = other.node("k", in: other.root("map", .map)) else { throw Missing() }
        try other.insert("late", at: 0, in: inner)
        let late = other.commit()
        try one.remove("k", in: map)
        let removed = one.commit()
        try one.apply(#require(late))
        try other.apply(#require(removed))
        #expect(try one.update() == other.update() && one.snapshot.bytes() == other.snapshot.bytes())
    }

    @Test func `places of joined blocks are used again`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text)
        for index in 0..<500 {
            try document.insert("a", at: index, in: text)
            _ = document.commit()
        }
        #expect(document.blockCount == 1 && document.store.blocks.count < 5)
    }

    @Test func `an update's deletions are carried out in its order, because the order decides what is joined`() throws {
        var document = SharedDocument(client: 9)
        // Client 3 made an array, client 4 a text. Client 2 put two maps into the array, a key into the first and an x into the text.
        // Then client 4 replaced the key and the text.
        let before =
            "030304002101016d017401a80201017d02a80400017d050103000"
            + "701016100040200070003000121000200016b01000187020001020401000102010102"
        try document.apply([UInt8](hex: before))
        // The array is deleted, then what is in it. Yjs joins the two blocks at each end, and not all four.
        try document.apply([UInt8](hex: "00030301000102020001030104010101"))
        let yjs = [UInt8](hex: "030304002101016d0174010001a80400017d0501030001010161010202000002000203040100020301000102010004")
        #expect(try document.update() == yjs)
    }

    @Test func `a caret follows text that undo made again, even if the deleted text is cut later`() throws {
        var mine = SharedDocument(client: 1), other = SharedDocument(client: 2)
        let text = mine.root("text", .text)
        var undo = DocumentUndo(of: [text], groupingTime: .zero)
        try mine.insert("abcdef", at: 0, in: text)
        let typed = mine.commit(noting: &undo, at: .start)
        try other.apply(#require(typed))
        let caret = try mine.position(at: 4, in: text)
        try mine.delete(0..<6, in: text)
        _ = mine.commit(noting: &undo, at: .start)
        _ = undo.undo(&mine)
        #expect(mine.index(of: caret)?.index == 4)
        // The other copy still has the old text, and cuts it.
        try other.insert("-", at: 2, in: other.root("text", .text))
        let cut = other.commit()
        try mine.apply(#require(cut))
        let shown = Array(mine.text(text)), index = try #require(mine.index(of: caret)?.index)
        #expect(shown.count == 7 && shown[index] == "e")
    }

    // MARK: - Sets of units

    @Test func `a set holds the units of its ranges, and not those next to them`() {
        var set = IDSet()
        for clock: Int32 in [10, 0, 20, 11] { set.insert(BlockID(client: 0, clock: clock), 3) }
        set.insert(BlockID(client: 1, clock: 5), 1)
        set.sort()
        #expect(set.ranges.map { [$0.client, $0.clock, $0.length] } == [[0, 0, 3], [0, 10, 4], [0, 20, 3], [1, 5, 1]])
        let held = (0..<30).filter { set.contains(BlockID(client: 0, clock: $0)) }
        #expect(held == [0, 1, 2, 10, 11, 12, 13, 20, 21, 22])
        #expect((0..<9).filter { set.contains(BlockID(client: 1, clock: $0)) } == [5])
    }

    @Test func `the ranges of a delete set are joined for each client, and the clients keep their order`() throws {
        // Client 7 once and client 5 twice, with ranges that repeat, overlap, touch, and stand apart.
        var reader = try UpdateReader([UInt8](hex: "03" + "070209010902" + "0503000500050305" + "050214010801"), .v1)
        var contents = Contents()
        _ = contents.clients.intern(5)
        let set = try reader.deletes(&contents)
        #expect(set.clients.map { contents.clients[$0] } == [7, 5])
        #expect(set.ranges.map { [Int($0.clock), Int($0.end)] } == [[9, 11], [0, 9], [20, 21]])
    }

    private struct Missing: Error {}

    private func expectSameCopy(_ document: SharedDocument) throws {
        var copy = SharedDocument(client: 8)
        try copy.apply(document.update())
        #expect(try copy.update() == document.update() && copy.stateVector == document.stateVector)
    }
}
