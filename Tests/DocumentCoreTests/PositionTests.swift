import CodecCore
import MachineCore
import Testing

@testable import DocumentCore

@Suite struct `Positions and presence in documents` {
    @Test func `positions move as they do in Yjs`() throws {
        for vector in try Vectors.lines("relative") {
            var script = Script(client: 1)
            let text = try #require(script.roots["text"])
            for update in vector.objects("updates") { try script.document.apply(update.bytes(.v1)) }
            let positions = try vector.objects("positions").map { expected in
                let side: DocumentPosition.Side = expected.number("assoc") < 0 ? .before : .after
                let position = try script.document.position(at: expected.number("index"), in: text, holdingOnTo: side)
                #expect(position.bytes == expected.bytes("bytes"))
                #expect(position.json.vector.sorted == expected["json"]?.sorted)
                #expect(DocumentPosition(DocumentValue(vector: expected["json"] ?? .null)) == position)
                return (try DocumentPosition(expected.bytes("bytes")), expected)
            }
            for update in vector.objects("later") { try script.document.apply(update.bytes(.v1)) }
            for (position, expected) in positions {
                let place = script.document.index(of: position)
                #expect(place?.index == expected["later"]?.int && place?.type == text)
            }
        }
    }

    @Test func `a position follows what undo makes again, and is nowhere before its unit has come`() throws {
        var document = SharedDocument(client: 1)
        let text = document.root("text", .text)
        var undo = DocumentUndo(of: [text], groupingTime: .zero)
        try document.insert("abcdef", at: 0, in: text)
        _ = document.commit(noting: &undo, at: .start)
        let caret = try document.position(at: 4, in: text)
        let other = SharedDocument(client: 2)
        #expect(other.index(of: caret) == nil)
        try document.delete(2..<6, in: text)
        _ = document.commit(noting: &undo, at: .start)
        #expect(document.index(of: caret)?.index == 2)
        _ = undo.undo(&document)
        #expect(document.index(of: caret)?.index == 4)
    }

    @Test func `awareness takes the updates that y-protocols takes`() throws {
        for vector in try Vectors.lines("awareness") {
            var awareness = DocumentAwareness(client: UInt64(vector.number("local")))
            _ = awareness.set(.object([]), at: .start)
            for step in vector.objects("steps") {
                _ = try awareness.apply(step.bytes("bytes"), at: .start)
                let states = awareness.states.sorted { $0.key < $1.key }.map { Value.array([.integer(Int64($0.key)), $0.value.vector]) }
                #expect(Value.array(states).sorted == step["states"]?.sorted, "\(step.string("what"))")
            }
        }
    }

    @Test func `clients that give no sign go, and the own state is renewed`() throws {
        var mine = DocumentAwareness(client: 1), other = DocumentAwareness(client: 2)
        #expect(mine.deadline == nil)
        let here = mine.set(.object([.init("name", "Ann")]), at: .start)
        #expect(try other.apply(here, at: .start) == .init(added: [1]))
        #expect(try other.apply(here, at: .start) == .init())
        #expect(mine.deadline == Moment(.seconds(15)) && other.deadline == Moment(.seconds(30)))
        let woken = mine.wake(at: Moment(.seconds(15)))
        let renewed = try #require(woken.answer)
        #expect(try other.apply(renewed, at: Moment(.seconds(15))) == .init())
        #expect(other.wake(at: Moment(.seconds(44))) == .init())
        #expect(other.wake(at: Moment(.seconds(45))) == .init(removed: [1]) && other.states.isEmpty)
        // Another says that this client is gone. It says that it is not.
        _ = try other.apply(renewed, at: Moment(.seconds(45)))
        let gone = try mine.apply([1, 1, 2, 4] + "null".utf8, at: Moment(.seconds(46)))
        let answer = try #require(gone.answer)
        #expect(try other.apply(answer, at: Moment(.seconds(46))) == .init() && mine.states.count == 1)
        #expect(other.disconnect() == .init(removed: [1]))
    }

    @Test(arguments: ["", "01", "0101", "010100", "0101000378797a", "ff01", "0101ffffffffffffff1f046e756c6c"])
    func `what is no awareness update is refused`(hex: String) {
        var awareness = DocumentAwareness(client: 1)
        #expect(throws: DocumentError.self) { try awareness.apply([UInt8](hex: hex), at: .start) }
    }

    @Test(arguments: ["", "03", "00", "0001", "01", "0105", "0201"]) func `what is no position is refused`(hex: String) {
        #expect(throws: DocumentError.self) { try DocumentPosition([UInt8](hex: hex)) }
    }
}
