import MachineCore
import RoomCore

/// Random frames of every kind.
///
/// Field values are often at a limit, and optional fields are sometimes missing.
struct RandomFrames {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// One frame of each kind that a client sends.
    mutating func client() -> [ClientFrame] {
        [
            .hello(
                ClientFrame.Hello(
                    versions: list { $0.number() }, device: device(), token: maybe { $0.text() }, agent: maybe { $0.text() },
                    joins: list { $0.join() })),
            .auth(token: text()), .join(join()), .leave(room()),
            .publish(room(), Publication(cseq: number(from: 1), id: id(), sent: number(), content: maybe { $0.content() })),
            .read(room(), upTo: number()),
            .history(ClientFrame.History(reference: number(), room: room(), before: number(), limit: number())),
            .presence(room(), presence()), .members(room()), .typing(room(), flag()),
            .signal(room(), Signal(type: type(), payload: payload())), .ping(number()),
        ]
    }

    /// One frame of each kind that a hub sends.
    mutating func hub() -> [HubFrame] {
        [
            .welcome(
                HubFrame.Welcome(
                    version: number(), connection: type(), user: user(), now: number(), expires: number(), window: number(),
                    limits: limits())),
            .renewed(expires: number()), .state(state()),
            .entries(room(), epoch: epoch(), list { $0.entry() }, proof: maybe { $0.proof() }),
            .acks(
                room(), epoch: epoch(),
                list {
                    HubFrame.Ack(
                        cseq: $0.number(from: 1), seq: $0.number(), at: $0.number(), id: $0.maybe { $0.id() }, isDuplicate: $0.flag())
                }),
            .hole(room(), expected: number(from: 1)), .lag(room(), head: number()),
            .page(HubFrame.Page(reference: number(), room: room(), epoch: epoch(), items: list { $0.entry() }, base: number())),
            .read(room(), user(), upTo: number()), .members(members()), .typing(room(), user(), flag()),
            .signal(room(), from: user(), connection: type(), Signal(type: type(), payload: payload())), .refusal(refusal()),
            .pong(number(), now: number()), .goaway(HubFrame.Goaway(after: number(), drain: number())),
        ]
    }

    private mutating func flag() -> Bool { Bool.random(using: &random) }

    private mutating func maybe<Value>(_ make: (inout RandomFrames) -> Value) -> Value? { flag() ? make(&self) : nil }

    private mutating func list<Value>(_ make: (inout RandomFrames) -> Value) -> [Value] {
        var list: [Value] = []
        for _ in 0..<Int.random(in: 0...3, using: &random) { list.append(make(&self)) }
        return list
    }

    private mutating func number(from lowest: Int64 = 0) -> Int64 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: lowest
        case 1: (1 << 53) - 1
        case 2: Int64.random(in: 1...1000, using: &random)
        default: Int64.random(in: 1..<(1 << 53), using: &random)
        }
    }

    private mutating func bits() -> Bits128 {
        Bits128(high: flag() ? 0 : random.next(), low: flag() ? 0 : random.next())
    }

    private mutating func id() -> MessageID { MessageID(bits()) }

    private mutating func device() -> DeviceID { DeviceID(bits()) }

    private mutating func epoch() -> UInt64 { flag() ? 1 : random.next() | 1 }

    /// A random name without control characters.
    private mutating func text(upTo length: Int = 12) -> String {
        let letters = ["a", "b", " ", "\"", "\\", "/", "é", "漢", "😀", "{", "}", ",", ":", "\u{301}"]
        var text = ""
        for _ in 0..<Int.random(in: 0...length, using: &random) { text += letters.randomElement(using: &random)! }
        return text
    }

    private mutating func room() -> RoomName { RoomName("r" + text())! }

    private mutating func user() -> UserName { UserName("u" + text())! }

    /// A random type.
    ///
    /// The app sets it, so it may hold any characters.
    private mutating func type() -> String { "t" + text() + (flag() ? "\n\u{0}\t\u{1F}\u{7F}" : "") }

    private mutating func json() -> [UInt8] {
        let values = [
            #"{"text":"hi"}"#, "null", "true", "false", "0", "-1.5e-300", #""""#, #""é\u00e9\ud83d\ude00\n""#, "[]", "{}", "[ 1 , [ ] ]",
            #"{"a":{"b":[{"c":null}]},"a":1}"#, "\"\u{2028}\u{7F}\"", "12345678901234567890123",
        ]
        return Array(values.randomElement(using: &random)!.utf8)
    }

    private mutating func payload() -> Payload {
        guard flag() else { return .json(json()) }
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...9, using: &random) { bytes.append(UInt8.random(in: .min ... .max, using: &random)) }
        return .binary(bytes)
    }

    private mutating func reference() -> Reference { Reference(kind: type(), seq: number(from: 1)) }

    private mutating func content() -> Publication.Content {
        Publication.Content(type: type(), about: maybe { $0.reference() }, payload: payload())
    }

    private mutating func join() -> ClientFrame.Join {
        let cursor = flag() ? LogPosition(epoch: epoch(), seq: number()) : LogPosition(epoch: 0, seq: -number())
        return ClientFrame.Join(
            room: room(), cursor: cursor, limit: number(), wantsPresence: flag(), next: number(from: 1),
            proof: maybe { $0.proof() })
    }

    private mutating func proof() -> CursorProof { CursorProof(id().bits) }

    private mutating func presence() -> Presence { Presence(status: text(), meta: maybe { $0.json() }) }

    private mutating func entry() -> Entry {
        Entry(
            seq: number(from: 1), id: id(), device: device(), cseq: number(from: 1), user: user(), at: number(), sent: number(),
            type: type(), about: maybe { $0.reference() }, payload: payload(), isAdmin: flag())
    }

    private mutating func state() -> HubFrame.RoomState {
        HubFrame.RoomState(
            room: room(), epoch: epoch(), from: number(), to: number(), head: number(), base: number(), items: list { $0.entry() },
            isSnapshot: flag(), hasMore: flag(), high: number(), highID: maybe { $0.id() },
            rights: RoomRights(rawValue: UInt8.random(in: 0...15, using: &random)),
            reads: list { HubFrame.ReadMarker(user: $0.user(), seq: $0.number()) }, proof: maybe { $0.proof() })
    }

    private mutating func members() -> HubFrame.RoomMembers {
        HubFrame.RoomMembers(
            room: room(), node: type(), incarnation: flag() ? 0 : epoch(), version: number(), isFull: flag(), total: number(),
            members: list { PresentMember(connection: $0.type(), user: $0.user(), presence: $0.presence()) }, gone: list { $0.type() })
    }

    private mutating func limits() -> RoomsLimits {
        var limits = RoomsLimits()
        (limits.frame, limits.body, limits.roomWindow, limits.window) = (number(), number(), number(), number())
        (limits.rooms, limits.page, limits.members) = (number(), number(), number())
        return limits
    }

    private mutating func refusal() -> Refusal {
        let retry: Refusal.Retry = [.never, .now, .after(number()), .reconnect].randomElement(using: &random)!
        return Refusal(
            Refusal.Code(rawValue: number()), retry: retry, room: maybe { $0.room() }, cseq: maybe { $0.number() },
            reference: maybe { $0.number() }, versions: list { $0.number() }, text())
    }
}
