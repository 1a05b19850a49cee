/// The head of an HTTP/1 message: ``RequestHead`` or ``ResponseHead``.
public protocol MessageHead: Sendable {
    /// Reads the first line, given without its line break, and takes the fields that followed it.
    init(startLine: String, headers: HeaderFields) throws(HandshakeFailure)

    /// The fields, in order.
    var headers: HeaderFields { get set }
}

extension MessageHead {
    /// The minor version of `HTTP/1.x` (RFC 9112 §2.3).
    static func minorVersion(_ bytes: ArraySlice<UInt8>) throws(HandshakeFailure) -> Int {
        guard bytes.starts(with: "HTTP/".utf8) else { throw HandshakeFailure(.malformedHead, "the first line is not HTTP") }
        guard bytes.count == 8, bytes.starts(with: "HTTP/1.".utf8), let digit = bytes.last, 0x30...0x39 ~= digit else {
            throw HandshakeFailure(.unsupportedHTTPVersion, "\(quoted(String(decoding: bytes, as: UTF8.self))) instead of HTTP/1.1")
        }
        return Int(digit & 0x0F)
    }
}
