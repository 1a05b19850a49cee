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
