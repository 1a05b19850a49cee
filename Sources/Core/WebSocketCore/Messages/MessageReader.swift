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

    @usableFromInline let role: Role
    var limits: MessageLimits
    let delivery: Delivery
    /// The most bytes of a message in one frame.
    @usableFromInline var longestLone: Int
    /// Whole messages that come in pieces are handed over as one last chunk, so that text need not become a `String`.
    let keepsBytes: Bool
    /// Whether a frame begins with the next byte, and may be a whole message.
    @usableFromInline var takesLone: Bool
    var phase = Phase.header
    var partial = PartialHeader()
    /// The frame being read, and how many bytes of its payload have come.
    var frame = FrameHeader(.continuation, payloadLength: 0)
    var received = 0
    var control: [UInt8] = []
    var message = PartialMessage()
    var inflation: Inflation?
    /// Empty storage for the next message that comes in pieces: memory that was in use before is cheaper than new.
    public var spare: [UInt8] = []

    /// A reader for one connection.
    ///
    /// `role` is this side's: a server demands masked frames, a client unmasked ones (RFC 6455 §5.1).
    /// Without an `inflater` a compressed message is a violation. With `keepsBytes` a whole message is one last chunk.
    public init(
        role: Role, limits: MessageLimits = .init(), delivery: Delivery = .messages, inflater: (any MessageInflater)? = nil,
        keepsBytes: Bool = false
    ) {
        (self.role, self.limits, self.delivery, self.keepsBytes) = (role, limits, delivery, keepsBytes)
        longestLone = min(limits.frame, limits.message)
        takesLone = delivery == .messages
        inflation = inflater.map { Inflation($0) }
    }

    /// Takes messages of so many bytes at most from here on.
    package mutating func limitMessages(to length: Int) {
        limits.message = length
        longestLone = min(limits.frame, length)
    }

    /// The next event in `bytes`, which moves on past what was read; nil when all is read and more is needed.
    ///
    /// Throws at the first byte that breaks a rule. After that, as after a close frame, the reader consumes
    /// and ignores everything. Payloads are unmasked on the way into the event's own storage.
    public mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        defer { takesLone = phase == .header && partial.isEmpty && !message.isOpen && delivery == .messages }
        do throws(ProtocolViolation) {
            return try unsafe advance(&bytes)
        } catch {
            (phase, control, message) = (.finished, [], PartialMessage())
            _ = unsafe bytes.takeFirst(bytes.count)
            throw error
        }
    }

    private mutating func advance(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        if !keepsBytes, let lone = unsafe nextLone(&bytes) { return .message(try lone.message()) }
        while true {
            switch phase {
            case .header:
                guard let header = try unsafe partial.read(&bytes, allowsCompression: inflation != nil) else { return nil }
                frame = header
                try admitFrame()
                if let event = try unsafe compressedMessage(&bytes) { return event }
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
