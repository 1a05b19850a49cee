import Holdfast
import HoldfastProtocols
import MachineCore
import ProtocolCore

/// A protocol for tests.
///
/// Requests are sent as they are, and each answer names its request.
///
/// The server answers `hello` with `welcome`, and may send `rest`. `+7` and `-7` are events of request 7, and `-7` is the last one.
/// Other texts are events without a request.
struct EchoRules: ProtocolMachine {
    typealias Received = String
    typealias Sent = String
    enum Command: Hashable, Sendable {
        case ask(RequestID, String)
        case cancel(RequestID)
        case stop
        case leave
    }
    struct Event: ProtocolEvent, Hashable {
        var request: RequestID?
        var isLast = true
        var text: String
    }
    private(set) var isReady = false
    /// Whether reading has been paused for a consumer; ``pauses`` announces it.
    private(set) var hasPaused = false
    private let pauses: Changes
    private(set) var cancelled: [RequestID] = []
    /// Whether the client must wait before it reconnects after this connection.
    private var mustWait = false
    private var waiting: [String] = []

    init(pauses: Changes = Changes()) { self.pauses = pauses }

    var deadline: Moment? { nil }
    func wake(at now: Moment, into effects: inout [Effect]) {}

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .opened: effects.append(.send("hello"))
        case .lost(let unsent, _):
            isReady = false
            effects.append(.event(Event(text: "lost \(unsent.count)")))
            if mustWait { effects.append(.end(.reconnect(after: .seconds(30), .goingAway, reason: "the server needs a pause"))) }
            mustWait = false
        case .paused:
            hasPaused = true
            pauses.announce()
        case .resumed: break
        case .received("welcome"):
            isReady = true
            effects.append(.ready)
            for text in waiting { effects.append(.send(text)) }
            waiting = []
        case .received("rest"): mustWait = true
        case .received("bad"): effects.append(.end(.reject(.protocolError, reason: "that was bad")))
        case .received(let text):
            let id = text.first == "+" || text.first == "-" ? UInt64(text.dropFirst()).map { RequestID($0) } : nil
            effects.append(.event(Event(request: id, isLast: text.first != "+", text: text)))
        case .undecodable(let reason): effects.append(.end(.reject(.invalidPayload, reason: reason)))
        case .command(.ask(let id, let text)):
            let message = "\(id.number) \(text)"
            if isReady { effects.append(.send(message)) } else { waiting.append(message) }
        case .command(.cancel(let id)): cancelled.append(id)
        case .command(.stop): effects.append(.end(.stop))
        case .command(.leave): effects.append(.end(.disconnect))
        }
    }
}

struct EchoCoding: ProtocolCoding {
    struct Unreadable: Error {}
    func decode(_ message: Message) throws -> String? {
        guard case .text(let text) = message else { throw Unreadable() }
        return text == "later version" ? nil : text
    }
    func encode(_ message: String) throws -> Message { .text(message) }
    func isEphemeral(_ message: String) -> Bool { message.hasSuffix("~") }
}
