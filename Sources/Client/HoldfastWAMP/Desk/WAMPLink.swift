import Holdfast
import ProtocolClient
import ProtocolCore
import WAMPCore
import WebSocketCore

/// The present connection, and how messages are written on it.
struct WAMPLink: Sendable {
    let queue: OutgoingQueue<WAMPMessage>
    let serialization: WAMPSerialization

    init(
        _ connection: WebSocketConnection, _ serialization: WAMPSerialization, _ trace: WAMPTrace,
        end: @escaping @Sendable (ConnectionEnd, WebSocketConnection) -> Void
    ) {
        self.serialization = serialization
        queue = OutgoingQueue(
            connection,
            encode: { message in
                trace.sent(message)
                do {
                    let bytes = try message.encoded(as: serialization)
                    return serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
                } catch {
                    trace.unencodable(message, error)
                    throw error
                }
            }, end: end)
    }
}
