import MachineCore
import WebSocketCore

extension WebSocketState: CustomStringConvertible {
    /// In plain words, with times as they are now: `waiting: again in 1.3 s, for …`; holds no secrets.
    public var description: String {
        switch self {
        case .disconnected(nil): "disconnected"
        case .disconnected(let cause?): "disconnected: \(cause)"
        case .connecting(let attempt): attempt == 1 ? "connecting" : "connecting, attempt \(attempt)"
        case .connected(let since): "connected for \(since.duration(to: .now).words)"
        case .waiting(let until, let cause):
            "waiting: again in \(max(.zero, ContinuousClock.now.duration(to: until)).words)" + (cause.map { ", for \($0)" } ?? "")
        case .held: "held: the app is in the background, or there is no network"
        case .closing: "closing"
        case .closed(nil): "closed"
        case .closed(let error?): "closed: \(error)"
        }
    }
}

extension WebSocketEvent: CustomStringConvertible {
    /// What happened in plain words; of messages the length and the first bytes, without what names such as `password` announce.
    public var description: String {
        switch self {
        case .opened(let opening): "opened: \(opening)"
        case .message(let message): "message: \(message)"
        case .reconnecting(let attempt, let delay, let cause): "reconnecting: attempt \(attempt) in \(delay.words), for \(cause)"
        case .dropped(let dropped): "dropped: \(dropped)"
        case .state(let state): "state: \(state)"
        case .undecodable(let message): "undecodable: \(message)"
        case .missed(let count): "missed: \(count) events"
        case .closed(let closure): "closed: \(closure)"
        }
    }
}

extension DroppedSend: CustomStringConvertible {
    /// Why, and the message's length and first bytes.
    public var description: String { "\(refusal), \(message)" }
}

extension UndecodableMessage: CustomStringConvertible {
    /// What it is not, and its length and first bytes.
    public var description: String { "no \(type), \(message)" }
}
