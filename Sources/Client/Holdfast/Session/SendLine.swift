import WebSocketCore

/// A connection as those who send see it.
struct SendLine: Sendable {
    let connection: WebSocketConnection
    let trail: WriteTrail

    init(_ connection: WebSocketConnection) { (self.connection, trail) = (connection, WriteTrail(connection.transport)) }

    /// Sends without waiting; nil if the connection does not take it.
    func offer(_ message: Message) -> SendReceipt? {
        guard connection.accepts(message) else { return nil }
        return SendReceipt(.taken(trail, serial: trail.take()))
    }
}
