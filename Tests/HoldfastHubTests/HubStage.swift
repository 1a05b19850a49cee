import Foundation
import Holdfast
import HoldfastServer
import Logging
import RoomCore
import RoomsWire
import Testing
import WebSocketCore

@testable import HoldfastHub
import WebSocketRuntime

/// Tests of hubs over real sockets, which run one after the other.
@Suite(.serialized, .timeLimit(.minutes(2))) enum HubTests {}

/// A temporary directory of one test.
final class HubDirectory: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-hub-\(UUID())", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        let file = path + "/" + name
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}

extension Hub {
    /// A development hub with its data in a directory.
    static func stage(_ directory: HubDirectory, _ change: (inout HubConfiguration) -> Void = { _ in }) -> Hub {
        var configuration = HubConfiguration(data: directory.path + "/log")
        configuration.takesDevelopmentTokens = true
        configuration.logger.logLevel = .critical
        change(&configuration)
        return Hub(configuration)
    }
}

extension RoomName {
    static let abc = RoomName("abc") ?? { preconditionFailure("a name") }()
}

/// A client that sends the frames that a test gives it.
final class HubGuest: Sendable {
    /// The hub closed the connection before the expected frame came.
    struct Ended: Error {}

    let connection: WebSocketConnection
    let encoding: RoomsEncoding
    let device: DeviceID
    private let frames: WebSocketMessages

    init(
        _ url: String, _ encoding: RoomsEncoding = .json, offers: Bool = true, device: DeviceID? = nil,
        _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws {
        var configuration = WebSocketConfiguration()
        configuration.subprotocols = offers ? [encoding.subprotocol] : []
        change(&configuration)
        connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
        var chance = SystemRandomNumberGenerator()
        (self.encoding, self.device, frames) = (encoding, device ?? DeviceID(using: &chance), connection.messages)
    }

    func send(_ frame: ClientFrame) async throws { try await connection.send(encoding.encode(frame)) }

    /// The next frame.
    func next() async throws -> HubFrame {
        for try await message in frames {
            if let frame = try encoding.decodeHubFrame(message) { return frame }
        }
        throw Ended()
    }

    /// The next frame that matches.
    ///
    /// Other frames are skipped.
    func next<Found>(_ match: (HubFrame) -> Found?) async throws -> Found {
        while true { if let found = match(try await next()) { return found } }
    }

    /// Sends hello and waits for the welcome.
    @discardableResult
    func hello(token: String? = "dev:ann", joins: [ClientFrame.Join] = []) async throws -> HubFrame.Welcome {
        try await send(.hello(ClientFrame.Hello(versions: [1], device: device, token: token, joins: joins)))
        return try await next { if case .welcome(let welcome) = $0 { welcome } else { nil } }
    }

    /// Joins a room and waits for the state.
    @discardableResult
    func join(_ room: RoomName = .abc, from cursor: LogPosition = .nowhere) async throws -> HubFrame.RoomState {
        try await send(.join(ClientFrame.Join(room: room, cursor: cursor)))
        return try await state()
    }

    func state() async throws -> HubFrame.RoomState {
        try await next { if case .state(let state) = $0 { state } else { nil } }
    }

    func publish(_ cseq: Int64, _ text: String = "hi", id: MessageID? = nil, in room: RoomName = .abc) async throws {
        let content = Publication.Content(type: "chat.text", payload: .json(Array("\"\(text)\"".utf8)))
        try await send(.publish(room, Publication(cseq: cseq, id: id ?? .number(cseq), sent: WallClock.milliseconds, content: content)))
    }

    func ack() async throws -> HubFrame.Ack {
        try await next { if case .acks(_, _, let acks) = $0 { acks.first } else { nil } }
    }

    func entries() async throws -> [Entry] {
        try await next { if case .entries(_, _, let entries, _) = $0 { entries } else { nil } }
    }

    func refusal() async throws -> Refusal {
        try await next { if case .refusal(let refusal) = $0 { refusal } else { nil } }
    }

    /// Waits for the close and returns the hub's close code.
    func closeCode() async throws -> UInt16? {
        while (try? await next()) != nil {}
        return connection.closeRecord?.received?.code?.rawValue
    }
}

extension MessageID {
    /// A message ID made from a number.
    static func number(_ number: Int64) -> MessageID { MessageID(Bits128(high: 0x7000, low: 1 << 63 | UInt64(number))) }
}
