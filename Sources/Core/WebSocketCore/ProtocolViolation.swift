/// A rule of RFC 6455 or RFC 7692, or a limit of ours, that the peer broke.
///
/// A violation ends the connection with ``closeCode`` (RFC 6455 §7.1.7).
public struct ProtocolViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which rule was broken.
    public let kind: Kind
    /// What the peer sent, in words; it never quotes the payload.
    public let detail: String

    /// A violation of the rule `kind`, with the facts in `detail`.
    public init(_ kind: Kind, _ detail: String) { (self.kind, self.detail) = (kind, detail) }

    /// The code of the close frame that answers this violation.
    public var closeCode: CloseCode { kind.closeCode }

    /// The rule and what broke it, such as `oversized control frame: 126 bytes, at most 125 are allowed`.
    public var description: String { detail.isEmpty ? kind.description : "\(kind): \(detail)" }
}

extension ProtocolViolation {
    /// The name of a broken rule; more may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The rule's name in words, such as `missing mask`.
        public let description: String
        let closeCode: CloseCode

        init(_ description: String, _ closeCode: CloseCode) { (self.description, self.closeCode) = (description, closeCode) }

        /// A reserved bit is set that no negotiated extension uses (RFC 6455 §5.2).
        public static let reservedBits = Kind("reserved bits", .protocolError)
        /// The opcode is a reserved one (RFC 6455 §5.2).
        public static let unknownOpcode = Kind("unknown opcode", .protocolError)
        /// A ping, pong or close came without FIN (RFC 6455 §5.5).
        public static let fragmentedControl = Kind("fragmented control frame", .protocolError)
        /// A ping, pong or close carries more than 125 bytes (RFC 6455 §5.5).
        public static let oversizedControl = Kind("oversized control frame", .protocolError)
        /// The payload length is not written in its shortest form (RFC 6455 §5.2).
        public static let nonMinimalLength = Kind("non-minimal length", .protocolError)
        /// The payload length has its 64th bit set (RFC 6455 §5.2).
        public static let lengthOverflow = Kind("length overflow", .protocolError)
        /// A server masked a frame (RFC 6455 §5.1).
        public static let unexpectedMask = Kind("unexpected mask", .protocolError)
        /// A client did not mask a frame (RFC 6455 §5.1).
        public static let missingMask = Kind("missing mask", .protocolError)
        /// A continuation came while no message was open (RFC 6455 §5.4).
        public static let unexpectedContinuation = Kind("unexpected continuation", .protocolError)
        /// A new message began before the last one ended (RFC 6455 §5.4).
        public static let expectedContinuation = Kind("expected a continuation", .protocolError)
        /// A text message or a close reason is not UTF-8 (RFC 6455 §8.1); closes with 1007.
        public static let invalidUTF8 = Kind("invalid UTF-8", .invalidPayload)
        /// A close frame has a payload of one byte, or a code that must not travel (RFC 6455 §5.5.1, §7.4).
        public static let invalidCloseFrame = Kind("invalid close frame", .protocolError)
        /// A frame or message is longer than our limits allow; closes with 1009.
        public static let messageTooBig = Kind("message too big", .messageTooBig)
        /// A message came in more frames than our limits allow; closes with 1008.
        public static let tooManyFragments = Kind("too many fragments", .policyViolation)
        /// A compressed message is not a DEFLATE stream (RFC 7692 §7.2.2); closes with 1007.
        public static let invalidCompressedData = Kind("invalid compressed data", .invalidPayload)
    }
}
