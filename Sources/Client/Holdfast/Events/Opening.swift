import MachineCore
public import WebSocketCore

/// A connection of a ``WebSocket`` that has just been opened.
public struct Opening: Sendable, CustomStringConvertible {
    /// The connection; it is read through the socket, not by its own ``WebSocketConnection/messages``.
    public let connection: WebSocketConnection
    /// Which attempt it was, counted from 1 since the last stable connection.
    public let attempt: Int
    /// How long there was no connection, by the socket's clock; nil for the first one, zero if one took over from another.
    public let downtime: Duration?

    /// An opening, as a ``WebSocket`` tells it; for tests of what hears of it.
    public init(connection: WebSocketConnection, attempt: Int = 1, downtime: Duration? = nil) {
        (self.connection, self.attempt, self.downtime) = (connection, attempt, downtime)
    }

    /// The subprotocol agreed on, if any.
    public var subprotocol: String? { connection.subprotocol }
    /// The header fields of the server's answer to the upgrade.
    public var headers: HeaderFields { connection.response.headers }

    /// Which attempt, and after how long; no header field and no subprotocol that is not well known, for they may hold secrets.
    public var description: String {
        "attempt \(attempt)" + (downtime.map { ", \($0.words) without a connection" } ?? "")
            + (subprotocol.map { ", subprotocol \(Secrecy.subprotocol($0))" } ?? "")
    }
}
