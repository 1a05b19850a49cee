import CodecCore
import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Events of several types", .timeLimit(.minutes(1))) struct EventTypesTests {
    struct Joined: Codable, Hashable, Sendable { var userid: Int }
    enum Member: Hashable, Sendable { case joined(Joined), tagged([String]), renamed(String?), other(Value) }

    /// The content of these events, or nil where an event cannot be decoded.
    private func contents(_ events: [[Value]], _ types: EventTypes<Member>, _ serialization: WAMPSerialization) async throws -> [Member?] {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        async let subscribing = stage.wamp.subscribe(Topic<Member>("com.app.members", form: types.form))
        try await peer.subscribe(as: 5)
        var items = try await subscribing.withGaps.makeAsyncIterator()
        var members: [Member?] = []
        for (number, event) in events.enumerated() {
            try await peer.event(5, WAMPID(number) + 1, event)
            if case .event(let event)? = try await items.next() { members.append(event.content) } else { members.append(nil) }
        }
        return members
    }

    @Test("the type number and the content may be in an array that is the only argument", arguments: WAMPSerialization.allCases)
    func array(_ serialization: WAMPSerialization) async throws {
        let types = EventTypes<Member>(at: .item(0))
            .with(50, as: Joined.self, in: .item(4)) { .joined($0) }
            .with(51, as: [String].self, in: .item(3)) { .tagged($0) }
            .with(52, as: String?.self, in: .item(1)) { .renamed($0) }
            .otherwise { name, _ in .other(name) }
        let events: [[Value]] = [
            [[50, 7_814_135, [:], [], ["userid": 123]]], [[51, 7_814_135, [:], ["a", "b"], ["userid": 123]]], [[52]], [[52, "ann"]],
            [["x", 1]], [[]], [], [50, 1], [[50, 1, [:], [], "no object"]], [["0": 50]],
        ]
        #expect(
            try await contents(events, types, serialization) == [
                .joined(Joined(userid: 123)), .tagged(["a", "b"]), .renamed(nil), .renamed("ann"), .other("x"), .other(nil), .other(nil),
                .other(nil), nil, .other(nil),
            ])
    }

    @Test("the type may be a positional argument or a keyword", arguments: WAMPSerialization.allCases)
    func places(_ serialization: WAMPSerialization) async throws {
        let places = EventTypes<Member>(at: .place(0)).with(50, as: Joined.self, in: .place(4)) { .joined($0) }
        let (joined, ann): (Value, Value) = (["userid": 123], ["kind": "joined", "userid": 7])
        #expect(
            try await contents([[50, 7_814_135, [:], [], joined], [51], []], places, serialization) == [
                .joined(Joined(userid: 123)), nil, nil,
            ])
        let keys = EventTypes<Member>(at: .key("kind")).with("joined", as: Joined.self, in: .place(0)) { .joined($0) }
        #expect(try await contents([[ann, 1], [joined], [[ann]]], keys, serialization) == [.joined(Joined(userid: 7)), nil, nil])
        // Without a position the content is decoded from the arguments around the type.
        let beside = EventTypes<Member>(at: .key("kind")).with("joined", as: Joined.self) { .joined($0) }
        #expect(try await contents([[ann, 1], [joined]], beside, serialization) == [.joined(Joined(userid: 7)), nil])
    }

    @Test("the type may be a constant of the app, and an integral number matches in any form")
    func constants() async throws {
        enum Kind: Int { case joined = 50 }
        let (name, number, byte) = ("tagged", Kind.joined.rawValue, UInt8(52))
        let types = EventTypes<Member>(at: .place(0))
            .with(number, as: Joined.self, in: .place(1)) { .joined($0) }
            .with(name, as: [String].self, in: .place(1)) { .tagged($0) }
            .with(name.prefix(3), as: [String].self, in: .place(1)) { .tagged(["short"] + $0) }
            .with(byte, as: String?.self, in: .place(1)) { .renamed($0) }
            .with(Value.unsigned(53), as: String?.self, in: .place(1)) { .renamed($0) }
        let joined: Value = ["userid": 1]
        let events: [[Value]] = [
            [50, joined], [.float(50), joined], ["tagged", ["a"]], ["tag", ["a"]], [52, "ann"], [53, "bob"], [.float(50.5), joined],
            [54, "x"],
        ]
        let received = try await contents(events, types, .messagePack)
        #expect(
            received == [
                .joined(Joined(userid: 1)), .joined(Joined(userid: 1)), .tagged(["a"]), .tagged(["short", "a"]), .renamed("ann"),
                .renamed("bob"), nil, nil,
            ])
    }
}
