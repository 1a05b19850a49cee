import CodecCore
import Holdfast
import HoldfastProtocols
import WAMPCore
import WebSocketCore

/// How messages are written on one connection, and who the app is there: nonces are used once.
struct WAMPCoding: ProtocolCoding {
    let serialization: WAMPSerialization
    let identification: WAMPIdentification
    let trace: WAMPTrace
    let limits: CodecLimits

    /// - Returns: Nil if the server has agreed on no subprotocol of WAMP.
    init?(_ opening: Opening, _ context: WAMPContext) {
        guard let serialization = opening.subprotocol.flatMap({ WAMPSerialization(subprotocol: $0) }) else { return nil }
        (self.serialization, identification) = (serialization, WAMPIdentification(context.authentication))
        (trace, limits) = (context.trace, context.options.limits)
    }

    var greeting: ValueMap { identification.extra }

    func decode(_ message: Message) throws -> WAMPMessage? {
        do throws(WAMPFormatError) {
            guard (message.kind == .text) == serialization.isText else { throw WAMPFormatError(.messageKind) }
            let decoded = message.withBytes { bytes in
                Result { () throws(WAMPFormatError) in try WAMPMessage(decoding: bytes.bytes, as: serialization, limits: limits) }
            }
            let received = try decoded.get()
            trace.received(received)
            return received
        } catch {
            trace.received(error)
            throw error
        }
    }

    func encode(_ message: WAMPMessage) throws -> Message {
        trace.sent(message)
        do {
            let bytes = try message.encoded(as: serialization)
            return serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
        } catch {
            trace.unencodable(message, error)
            throw error
        }
    }
}
