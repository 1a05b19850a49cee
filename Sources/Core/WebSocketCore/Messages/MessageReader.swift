/// Turns the bytes a peer sends into messages and control frames.
///
/// A pull parser: pure, streaming, holding at most one unfinished message. It keeps the rules of RFC 6455 §5 (masking,
/// fragments, control frames, UTF-8) and ``MessageLimits``, and decompresses when it is given an inflater (RFC 7692).
/// A reader belongs to one direction of one connection; a copy shares its inflater.
public struct MessageReader {
    /// What came.
    public enum Event: Hashable, Sendable {
        /// A whole message, under ``Delivery/messages``.
        case message(Message)
        /// The next piece of a message, under ``Delivery/chunks``.
        case chunk(MessageChunk)
        /// A ping with its payload, at most 125 bytes; to be answered with a pong.
        case ping([UInt8])
        /// A pong with its payload, at most 125 bytes.
        case pong([UInt8])
        /// The close frame. The reader ignores what follows it (RFC 6455 §1.4).
        case close(CloseFrame)
    }

    enum Phase: Hashable {
        /// Between frames or inside a header. → `payload` when the header is whole and allowed.
        case header
        /// Inside a frame. → `header` when its last byte is here, → `finished` after a close frame.
        case payload
        /// After a close frame or a violation: everything is ignored.
        case finished
    }

    let role: Role
    let limits: MessageLimits
    let delivery: Delivery
    var phase = Phase.header
    var partial = PartialHeader()
    /// The frame being read, and how many bytes of its payload have come.
    var frame = FrameHeader(.continuation, payloadLength: 0)
    var received = 0
    var control: [UInt8] = []
    var message = PartialMessage()
    var inflation: Inflation?

    /// A reader for one connection.
    ///
    /// `role` is this side's: a server demands masked frames, a client unmasked ones (RFC 6455 §5.1).
    /// Without an `inflater` a compressed message is a violation.
    public init(
        role: Role, limits: MessageLimits = .init(), delivery: Delivery = .messages, inflater: (any MessageInflater)? = nil
    ) {
        (self.role, self.limits, self.delivery) = (role, limits, delivery)
        inflation = inflater.map { Inflation($0) }
    }

    /// The next event in `bytes`, which moves on past what was read; nil when all is read and more is needed.
    ///
    /// Throws at the first byte that breaks a rule. After that, as after a close frame, the reader consumes
    /// and ignores everything. Payloads are unmasked on the way into the event's own storage.
    public mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        do throws(ProtocolViolation) {
            return try unsafe advance(&bytes)
        } catch {
            (phase, control, message) = (.finished, [], PartialMessage())
            _ = unsafe bytes.takeFirst(bytes.count)
            throw error
        }
    }

    private mutating func advance(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        while true {
            switch phase {
            case .header:
                guard let header = try unsafe partial.read(&bytes, allowsCompression: inflation != nil) else { return nil }
                frame = header
                try admitFrame()
                if isLone, bytes.count >= frame.payloadLength {
                    return .message(try unsafe loneMessage(bytes.takeFirst(frame.payloadLength)))
                }
                openFrame()
            case .payload:
                if let event = try unsafe readPayload(&bytes) { return event }
                if phase == .payload, unsafe bytes.isEmpty { return nil }
            case .finished:
                _ = unsafe bytes.takeFirst(bytes.count)
                return nil
            }
        }
    }
}
