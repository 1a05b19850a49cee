/// Parses the bytes from a peer into messages and control frames.
///
/// A pull parser: it is pure and streaming, and holds at most one unfinished message. It enforces the rules of RFC 6455 §5 (masking,
/// fragments, control frames, UTF-8) and ``MessageLimits``, and decompresses if it has an inflater (RFC 7692). A reader belongs to one
/// direction of one connection. A copy shares its inflater.
public struct MessageReader {
    /// A parsed message, piece or control frame.
    public enum Event: Hashable, Sendable {
        /// A complete message, with ``Delivery/messages``.
        case message(Message)
        /// The next piece of a message, with ``Delivery/chunks``.
        case chunk(MessageChunk)
        /// A ping with its payload, at most 125 bytes; the owner must answer with a pong.
        case ping([UInt8])
        /// A pong with its payload, at most 125 bytes.
        case pong([UInt8])
        /// The close frame. The reader ignores all bytes after it (RFC 6455 §1.4).
        case close(CloseFrame)
    }

    enum Phase: Hashable {
        /// Between frames or inside a header. → `payload` when the header is complete and allowed.
        case header
        /// Inside a frame. → `header` after its last byte, → `finished` after a close frame.
        case payload
        /// After a close frame or a violation: everything is ignored.
        case finished
    }

    @usableFromInline let role: Role
    var limits: MessageLimits
    let delivery: Delivery
    /// The maximum size of a message in one frame.
    @usableFromInline var longestLone: Int
    /// Whether complete messages are delivered as one last chunk, so that text need not become a `String`.
    let keepsBytes: Bool
    /// Whether the next byte begins a frame that may be a whole message.
    @usableFromInline var takesLone: Bool
    var phase = Phase.header
    var partial = PartialHeader()
    /// The current frame, and how many bytes of its payload were received.
    var frame = FrameHeader(.continuation, payloadLength: 0)
    var received = 0
    var control: [UInt8] = []
    var message = PartialMessage()
    var inflation: Inflation?
    /// Empty storage for the next message that arrives in pieces.
    ///
    /// Reusing memory is cheaper than allocating it.
    public var spare: [UInt8] = []

    /// Creates a reader for one connection.
    ///
    /// `role` is the role of this side: a server requires masked frames, a client unmasked ones (RFC 6455 §5.1). Without an `inflater`, a
    /// compressed message is a violation. With `keepsBytes`, a whole message is delivered as one last chunk.
    public init(
        role: Role, limits: MessageLimits = .init(), delivery: Delivery = .messages, inflater: (any MessageInflater)? = nil,
        keepsBytes: Bool = false
    ) {
        (self.role, self.limits, self.delivery, self.keepsBytes) = (role, limits, delivery, keepsBytes)
        longestLone = min(limits.frame, limits.message)
        takesLone = delivery == .messages
        inflation = inflater.map { Inflation($0) }
    }

    /// Limits messages to this length from now on.
    package mutating func limitMessages(to length: Int) {
        limits.message = length
        longestLone = min(limits.frame, length)
    }

    /// Returns the next event in `bytes` and advances it past the bytes that were read; nil if all were read and more are needed.
    ///
    /// Throws at the first byte that violates a rule. After that, as after a close frame, the reader consumes and ignores everything.
    /// Payloads are unmasked while they are copied into the event's own storage.
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

    /// Checks the rules that need only the header: masking, order of fragments, limits.
    mutating func admitFrame() throws(ProtocolViolation) {
        switch (role, frame.mask) {
        case (.server, nil): throw ProtocolViolation(.missingMask, "a client must mask every frame")
        case (.client, .some): throw ProtocolViolation(.unexpectedMask, "a server must not mask")
        case (.server, .some), (.client, nil): break
        }
        if frame.opcode.isControl { return }
        // RFC 6455 §5.4: fragments of two messages are never mixed.
        if frame.opcode == .continuation {
            guard message.isOpen else { throw ProtocolViolation(.unexpectedContinuation, "no message is open") }
        } else {
            guard !message.isOpen else { throw ProtocolViolation(.expectedContinuation, "the last message has not ended") }
        }
        // The message limit is checked first, because apps know it; the frame limit follows from it. A compressed payload does not show the
        // length of the message, which is counted while inflating.
        guard frame.isCompressed || message.isCompressed || frame.payloadLength <= limits.message - message.byteCount else {
            let earlier = message.byteCount == 0 ? "" : " after \(message.byteCount)"
            throw ProtocolViolation(
                .messageTooBig, "\(frame.payloadLength) bytes\(earlier), at most \(limits.message) are allowed (limits.message)")
        }
        guard frame.payloadLength <= limits.frame else {
            throw ProtocolViolation(
                .messageTooBig, "a frame of \(frame.payloadLength) bytes, at most \(limits.frame) are allowed (limits.frame)")
        }
        guard message.frames < limits.fragments else {
            throw ProtocolViolation(.tooManyFragments, "more than \(limits.fragments) frames in one message")
        }
    }

    /// Prepares for a payload that arrives in pieces, is compressed, or belongs to a fragment or control frame.
    mutating func openFrame() {
        (phase, received) = (.payload, 0)
        if frame.opcode.isControl { return }
        if frame.opcode != .continuation { message.open(frame.opcode == .text ? .text : .binary, isCompressed: frame.isCompressed) }
        if message.bytes.capacity == 0 { swap(&message.bytes, &spare) }
        message.frames += 1
    }

    /// Reads the available part of the frame's payload; returns the event that this completes, if any.
    mutating func readPayload(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        if frame.opcode.isControl { return try unsafe readControl(&bytes) }
        var available = min(frame.payloadLength - received, bytes.count)
        // A chunk is the output of one piece, so a compression bomb cannot create a chunk larger than about 8 MB.
        if message.isCompressed, delivery == .chunks { available = min(available, Inflation.pieceLength) }
        let piece = unsafe bytes.takeFirst(available)
        let start = message.bytes.count
        if message.isCompressed {
            let limit = limits.message - message.byteCount
            try unsafe inflation?.inflate(piece, mask: frame.mask, phase: received, into: &message.bytes, limit: limit)
        } else {
            unsafe message.bytes.append(piece, mask: frame.mask, phase: received, expecting: frame.payloadLength - received)
        }
        received += available
        try message.admitBytes(from: start)

        guard received == frame.payloadLength else { return delivery == .chunks ? nextChunk(isLast: false) : nil }
        phase = .header
        guard frame.isFinal else { return delivery == .chunks ? nextChunk(isLast: false) : nil }
        if message.isCompressed {
            let start = message.bytes.count
            try inflation?.finish(into: &message.bytes, limit: limits.message - message.byteCount)
            try message.admitBytes(from: start)
        }
        guard message.validator.isComplete else { throw .invalidText }
        if delivery == .chunks || keepsBytes {
            defer { message.close() }
            return nextChunk(isLast: true)
        }
        return .message(message.takeWhole())
    }

    /// Returns the bytes received since the last chunk; nil if there are none and the message continues.
    private mutating func nextChunk(isLast: Bool) -> Event? {
        if message.bytes.isEmpty, !isLast { return nil }
        return .chunk(MessageChunk(kind: message.kind, bytes: message.takeBytes(), isLast: isLast))
    }

    private mutating func readControl(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        let piece = unsafe bytes.takeFirst(min(frame.payloadLength - received, bytes.count))
        unsafe control.append(piece, mask: frame.mask, phase: received, expecting: frame.payloadLength - received)
        received += piece.count
        guard received == frame.payloadLength else { return nil }
        phase = .header
        defer { control = [] }
        switch frame.opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        default:
            let close = try unsafe control.withUnsafeBufferPointer { payload throws(ProtocolViolation) in
                try unsafe CloseFrame(payload: UnsafeRawBufferPointer(payload))
            }
            (phase, message) = (.finished, PartialMessage())
            return .close(close)
        }
    }

    /// Returns the event of a frame that is a whole compressed message, if its payload lies completely in `bytes`.
    ///
    /// Most compressed messages are of this kind. ``readPayload(_:)`` handles the others.
    mutating func compressedMessage(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        guard frame.isCompressed, frame.isFinal, delivery == .messages, bytes.count >= frame.payloadLength else { return nil }
        let (kind, keepsBytes) = (frame.opcode == .text ? MessageKind.text : .binary, keepsBytes)
        let payload = unsafe bytes.takeFirst(frame.payloadLength)
        return try unsafe inflation?.withWhole(payload, mask: frame.mask, limit: limits.message) { bytes throws(ProtocolViolation) in
            var validator = UTF8Validator()
            if kind == .text {
                guard unsafe validator.validate(bytes), validator.isComplete else { throw .invalidText }
                if !keepsBytes { return .message(.text(unsafe String(validated: bytes, isASCII: validator.isASCII))) }
            }
            let bytes = unsafe [UInt8](bytes)
            return keepsBytes ? .chunk(MessageChunk(kind: kind, bytes: bytes, isLast: true)) : .message(.binary(bytes))
        }
    }
}

extension ProtocolViolation {
    static var invalidText: ProtocolViolation { ProtocolViolation(.invalidUTF8, "a text message (RFC 6455 §8.1)") }
}

/// The bytes of a frame header that was split by the end of a read.
struct PartialHeader {
    private var storage = SIMD16<UInt8>()
    private var count = 0

    /// Whether no bytes of a header were received.
    var isEmpty: Bool { count == 0 }

    /// Returns the header that is completed by `bytes`; nil if all of `bytes` was stored and more are needed.
    mutating func read(_ bytes: inout UnsafeRawBufferPointer, allowsCompression: Bool) throws(ProtocolViolation) -> FrameHeader? {
        if count == 0, let (header, length) = try unsafe FrameHeader.parse(bytes, allowsCompression: allowsCompression) {
            _ = unsafe bytes.takeFirst(length)
            return header
        }
        let (before, added) = (count, min(FrameHeader.maximumLength - count, bytes.count))
        let parsed = try unsafe withUnsafeMutableBytes(of: &storage) { raw throws(ProtocolViolation) in
            unsafe raw[before...].copyBytes(from: bytes.prefix(added))
            let collected = unsafe UnsafeRawBufferPointer(rebasing: raw[..<(before + added)])
            return try unsafe FrameHeader.parse(collected, allowsCompression: allowsCompression)
        }
        _ = unsafe bytes.takeFirst(parsed.map { $0.length - before } ?? added)
        count = parsed == nil ? before + added : 0
        return parsed?.header
    }
}

/// The received part of a message that arrives in pieces.
struct PartialMessage {
    private(set) var isOpen = false
    private(set) var kind = MessageKind.binary
    private(set) var isCompressed = false
    /// The number of frames so far, including the current one.
    var frames = 0
    /// The number of inflated bytes so far, including those already delivered in chunks.
    private(set) var byteCount = 0
    /// The bytes not yet delivered.
    var bytes: [UInt8] = []
    private(set) var validator = UTF8Validator()

    mutating func open(_ kind: MessageKind, isCompressed: Bool) {
        (isOpen, self.kind, self.isCompressed) = (true, kind, isCompressed)
    }

    /// Counts the bytes from `start` on, and validates them if they are text.
    mutating func admitBytes(from start: Int) throws(ProtocolViolation) {
        byteCount += bytes.count - start
        guard kind == .text else { return }
        let isValid = unsafe bytes.withUnsafeBytes { unsafe validator.validate(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard isValid else { throw .invalidText }
    }

    mutating func takeBytes() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Returns the complete message and resets for the next one.
    mutating func takeWhole() -> Message {
        defer { close() }
        guard kind == .text else { return .binary(takeBytes()) }
        return .text(unsafe bytes.withUnsafeBytes { unsafe String(validated: $0, isASCII: validator.isASCII) })
    }

    mutating func close() { self = PartialMessage() }
}

/// A violation by the peer of a rule of RFC 6455 or RFC 7692, or of a configured limit.
///
/// A violation ends the connection with ``closeCode`` (RFC 6455 §7.1.7).
public struct ProtocolViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The violated rule.
    public let kind: Kind
    /// The details in words; never contains the payload.
    public let detail: String

    /// Creates a violation of the rule `kind`.
    public init(_ kind: Kind, _ detail: String) { (self.kind, self.detail) = (kind, detail) }

    /// The code of the close frame for this violation.
    public var closeCode: CloseCode { kind.closeCode }

    /// The rule and the details, such as `oversized control frame: 126 bytes, at most 125 are allowed`.
    public var description: String { detail.isEmpty ? kind.description : "\(kind): \(detail)" }
}

extension ProtocolViolation {
    /// The name of a violated rule; more may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The rule's name in words, such as `missing mask`.
        public let description: String
        let closeCode: CloseCode

        init(_ description: String, _ closeCode: CloseCode) { (self.description, self.closeCode) = (description, closeCode) }

        /// A reserved bit is set that no negotiated extension uses (RFC 6455 §5.2).
        public static let reservedBits = Kind("reserved bits", .protocolError)
        /// The opcode is reserved (RFC 6455 §5.2).
        public static let unknownOpcode = Kind("unknown opcode", .protocolError)
        /// A ping, pong or close frame without FIN (RFC 6455 §5.5).
        public static let fragmentedControl = Kind("fragmented control frame", .protocolError)
        /// A ping, pong or close frame with more than 125 bytes (RFC 6455 §5.5).
        public static let oversizedControl = Kind("oversized control frame", .protocolError)
        /// The payload length is not written in its shortest form (RFC 6455 §5.2).
        public static let nonMinimalLength = Kind("non-minimal length", .protocolError)
        /// The 64th bit of the payload length is set (RFC 6455 §5.2).
        public static let lengthOverflow = Kind("length overflow", .protocolError)
        /// A server masked a frame (RFC 6455 §5.1).
        public static let unexpectedMask = Kind("unexpected mask", .protocolError)
        /// A client did not mask a frame (RFC 6455 §5.1).
        public static let missingMask = Kind("missing mask", .protocolError)
        /// A continuation frame arrived while no message was open (RFC 6455 §5.4).
        public static let unexpectedContinuation = Kind("unexpected continuation", .protocolError)
        /// A new message began before the previous one ended (RFC 6455 §5.4).
        public static let expectedContinuation = Kind("expected a continuation", .protocolError)
        /// A text message or a close reason is not UTF-8 (RFC 6455 §8.1); closes with 1007.
        public static let invalidUTF8 = Kind("invalid UTF-8", .invalidPayload)
        /// A close frame has a payload of one byte, or a code that must not be sent (RFC 6455 §5.5.1, §7.4).
        public static let invalidCloseFrame = Kind("invalid close frame", .protocolError)
        /// A frame or message is longer than the limits allow; closes with 1009.
        public static let messageTooBig = Kind("message too big", .messageTooBig)
        /// A message has more frames than the limits allow; closes with 1008.
        public static let tooManyFragments = Kind("too many fragments", .policyViolation)
        /// A compressed message is not a valid DEFLATE stream (RFC 7692 §7.2.2); closes with 1007.
        public static let invalidCompressedData = Kind("invalid compressed data", .invalidPayload)
    }
}
