import HoldfastRooms
import HoldfastTerminal
import RoomCore
import Testing

@testable import HoldfastTool

@Suite struct EntryLineTests {
    private func line(_ body: String, user: String = "bob", type: String = "t") throws -> String {
        let entry = Entry(
            seq: 7, id: MessageID(Bits128(high: 0x7000, low: 1 << 63)), device: try #require(DeviceID(String(repeating: "b", count: 32))),
            cseq: 2, user: try #require(UserName(user)), at: 5, sent: 4, type: type, about: Reference(kind: "edit", seq: 3),
            payload: .json(Array(body.utf8)))
        return EntryLine.json(entry, room: try #require(RoomName("lobby")))
    }

    @Test func `an entry is one line of JSON, whatever its payload looks like`() throws {
        let line = try line("{\n \"a\": 1\n}", user: "b\"ob")
        #expect(
            line == #"{"room":"lobby","seq":7,"id":"00000000-0000-7000-8000-000000000000","user":"b\"ob","at":5,"sent":4,"#
                + #""device":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","cseq":2,"type":"t","about":{"kind":"edit","seq":3},"body":{  "a": 1 }}"#)
        #expect(JSONLayout.pretty(line) != nil)
    }

    @Test func `a name is written with what nobody would see`() throws {
        let line = try line("1", user: "a\u{200B}n\u{E0041}n")
        #expect(line.contains(#""user":"a\u200Bn\uDB40\uDC41n""#))
    }

    @Test func `what others write cannot drive the terminal as JSON either, and still says the same`() throws {
        let line = try line("{\"a\":\"\u{9B}2J\u{202E}\u{7F}é\"}", user: "b\u{2066}ob", type: "t\u{9D}")
        let drives = line.unicodeScalars.contains { $0.drivesTerminal }
        #expect(!drives)
        #expect(line.contains(#""user":"b\u2066ob""#) && line.contains(#""type":"t\u009D""#))
        #expect(line.contains(#"{"a":"\u009B2J\u202E\u007Fé"}"#))
    }
}
