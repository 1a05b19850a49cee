/// What a close frame says: a code and a reason, or nothing (RFC 6455 §5.5.1).
public struct CloseFrame: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The most UTF-8 bytes a reason can have: 125 less the two of the code.
    public static let maximumReasonLength = 123

    /// The status code; nil when the frame is empty.
    public let code: CloseCode?
    /// The reason, at most ``maximumReasonLength`` bytes of UTF-8; empty when there is no code.
    public let reason: String

    /// A close frame with a code and a reason.
    ///
    /// A longer reason is cut at the last character border that fits. Without a code there is no reason.
    public init(_ code: CloseCode? = nil, reason: String = "") {
        self.code = code
        self.reason = code == nil ? "" : reason.prefix(utf8Count: Self.maximumReasonLength)
    }

    /// The code, and whether there is a reason: its words may repeat a secret.
    public var description: String {
        guard let code else { return "no code" }
        return reason.isEmpty ? "\(code)" : "\(code), with a reason"
    }

    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["close": description]) }

    /// Reads the unmasked payload of a close frame.
    ///
    /// Throws `invalidCloseFrame` for a single byte or a code that must not travel, `invalidUTF8` for a bad reason.
    public init(payload: UnsafeRawBufferPointer) throws(ProtocolViolation) {
        guard unsafe !payload.isEmpty else {
            self.init()
            return
        }
        guard payload.count >= 2 else { throw ProtocolViolation(.invalidCloseFrame, "its payload is a single byte") }
        let code = CloseCode(rawValue: UInt16(bigEndian: unsafe payload.loadUnaligned(as: UInt16.self)))
        // RFC 6455 §7.4.2: other codes are reserved, or for use inside an endpoint only.
        guard code.mayBeReceived else { throw ProtocolViolation(.invalidCloseFrame, "the code \(code) must not be sent") }
        let reason = unsafe UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
        var validator = UTF8Validator()
        guard unsafe validator.validate(reason), validator.isComplete else {
            throw ProtocolViolation(.invalidUTF8, "the reason of a close frame (RFC 6455 §8.1)")
        }
        self.init(code, reason: unsafe String(validated: reason, isASCII: validator.isASCII))
    }

    /// The payload that says this; empty when there is no code, or one that must not travel (RFC 6455 §7.4.1).
    public var payload: [UInt8] {
        guard let code, code.mayBeReceived else { return [] }
        return [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)] + reason.utf8
    }
}

extension String {
    /// The longest prefix of whole characters with at most `limit` bytes of UTF-8.
    fileprivate func prefix(utf8Count limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var (end, length) = (startIndex, 0)
        while end < endIndex {
            length += self[end].utf8.count
            guard length <= limit else { break }
            formIndex(after: &end)
        }
        return String(self[..<end])
    }
}
