#if SwiftNIO
    import Holdfast
    import NIOCore

    /// Makes messages and control frames of a client's bytes.
    struct ClientSpeech {
        /// The largest message that is taken.
        static let limit = 16 << 20

        private var buffer = ByteBuffer()
        private var partial: (kind: Opcode, payload: [UInt8])?

        /// What was fed and not heard yet.
        var byteCount: Int { buffer.readableBytes }

        mutating func feed(_ bytes: inout ByteBuffer) {
            buffer.discardReadBytes()
            buffer.writeBuffer(&bytes)
        }

        /// What comes next; nil if that is not whole yet.
        mutating func next() throws(ProtocolViolation) -> Heard? {
            while let (header, payload) = try frame() {
                switch header.opcode {
                case .ping: return .ping(payload)
                case .pong: return .pong
                case .close: return .close(try Self.closeFrame(payload))
                case .continuation: try extend(with: payload)
                default: try begin(header.opcode, payload)
                }
                guard header.isFinal, let whole = partial.take() else { continue }
                return .message(try Self.message(whole.kind, whole.payload))
            }
            return nil
        }

        private mutating func frame() throws(ProtocolViolation) -> (header: FrameHeader, payload: [UInt8])? {
            let head = try buffer.withUnsafeReadableBytes { bytes throws(ProtocolViolation) in
                try FrameHeader.parse(bytes, allowsCompression: false)
            }
            guard let (header, length) = head else { return nil }
            guard let mask = header.mask else { throw ProtocolViolation(.missingMask, "opcode \(header.opcode.rawValue)") }
            guard header.payloadLength <= Self.limit else {
                throw ProtocolViolation(.messageTooBig, "\(header.payloadLength) bytes in one frame")
            }
            guard buffer.readableBytes >= length + header.payloadLength else { return nil }
            buffer.moveReaderIndex(forwardBy: length)
            var payload = buffer.readBytes(length: header.payloadLength) ?? []
            payload.withUnsafeMutableBytes { mask.apply(to: $0) }
            return (header, payload)
        }

        private mutating func begin(_ kind: Opcode, _ payload: [UInt8]) throws(ProtocolViolation) {
            guard partial == nil else { throw ProtocolViolation(.expectedContinuation, "a message within a message") }
            partial = (kind, payload)
        }

        private mutating func extend(with payload: [UInt8]) throws(ProtocolViolation) {
            guard let size = partial?.payload.count else { throw ProtocolViolation(.unexpectedContinuation, "no message was begun") }
            guard size + payload.count <= Self.limit else { throw ProtocolViolation(.messageTooBig, "more than \(Self.limit) bytes") }
            partial?.payload += payload
        }

        private static func message(_ kind: Opcode, _ payload: [UInt8]) throws(ProtocolViolation) -> Message {
            guard kind == .text else { return .binary(payload) }
            var validator = UTF8Validator()
            let isText = payload.withUnsafeBytes { validator.validate($0) } && validator.isComplete
            guard isText else { throw ProtocolViolation(.invalidUTF8, "a text message") }
            return .text(String(decoding: payload, as: UTF8.self))
        }

        private static func closeFrame(_ payload: [UInt8]) throws(ProtocolViolation) -> CloseFrame {
            let frame = payload.withUnsafeBytes { bytes in
                Result { () throws(ProtocolViolation) in try CloseFrame(payload: bytes) }
            }
            return try frame.get()
        }
    }
#endif
