/// The head of an HTTP/1 message: ``RequestHead`` or ``ResponseHead``.
public protocol MessageHead: Sendable {
    /// Reads the first line, given without its line break, and takes the fields that followed it.
    init(startLine: String, headers: HeaderFields) throws(HandshakeFailure)
}

extension MessageHead {
    /// The minor version of `HTTP/1.x` (RFC 9112 §2.3).
    static func minorVersion(_ text: some StringProtocol) throws(HandshakeFailure) -> Int {
        let prefix = "HTTP/1."
        let bytes = Array(text.utf8)
        guard text.hasPrefix("HTTP/") else { throw HandshakeFailure(.malformedHead, "the first line is not HTTP") }
        guard bytes.count == prefix.utf8.count + 1, text.hasPrefix(prefix), let digit = bytes.last, 0x30...0x39 ~= digit else {
            throw HandshakeFailure(.unsupportedHTTPVersion, "\(quoted(text)) instead of HTTP/1.1")
        }
        return Int(digit & 0x0F)
    }
}
