import NIOCore
import WebSocketCore

extension ByteBuffer {
    /// Reads on in an HTTP head, past what was used; nil when more is needed.
    mutating func readHead<Head: MessageHead>(_ parser: inout HeadParser<Head>) throws(HandshakeFailure) -> Head? {
        let result = readWithUnsafeReadableBytes { bytes in
            var rest = bytes
            let result = Result { () throws(HandshakeFailure) in try parser.parse(&rest) }
            return (bytes.count - rest.count, result)
        }
        return try result.get()
    }
}
