/// Reads the heads of HTTP/1 messages from bytes as they arrive: strict, bounded, in linear time.
///
/// Refused, though RFC 9112 lets a lenient reader pass some of it: folded lines, a space before
/// the colon, line breaks other than CR LF, control characters, names that are not tokens.
public struct HeadParser<Head: MessageHead>: Sendable {
    private let limit: Int
    private var count = 0
    private var line: [UInt8] = []
    private var startLine: String?
    private var headers = HeaderFields()
    private var failure: HandshakeFailure?

    /// Makes a parser that takes heads of at most `limit` bytes, the blank line included.
    public init(limit: Int = 16 * 1024) { self.limit = limit }

    /// Reads on, advancing `bytes` past what was used: never beyond the blank line that ends a head.
    ///
    /// Returns `nil` when all bytes are used and more are needed. After a head, the next call begins another one.
    /// Throws as soon as the head cannot be right, and the same failure ever after.
    public mutating func parse(_ bytes: inout UnsafeRawBufferPointer) throws(HandshakeFailure) -> Head? {
        if let failure { throw failure }
        do throws(HandshakeFailure) {
            while let byte = unsafe bytes.first {
                unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
                if try take(byte), let head = try endLine() { return head }
            }
            return nil
        } catch {
            self = Self(limit: limit)
            failure = error
            throw error
        }
    }

    /// Adds a byte to the line; `true` when that ends it.
    private mutating func take(_ byte: UInt8) throws(HandshakeFailure) -> Bool {
        count += 1
        guard count <= limit else { throw HandshakeFailure(.headTooLarge, "more than \(limit) bytes") }
        let afterReturn = line.last == HeaderSyntax.carriageReturn
        guard (byte == HeaderSyntax.lineFeed) == afterReturn else {
            throw HandshakeFailure(.malformedHead, "a line does not end with CR LF")
        }
        if afterReturn {
            line.removeLast()
            return true
        }
        guard HeaderSyntax.isFieldByte(byte) || byte == HeaderSyntax.carriageReturn else {
            throw HandshakeFailure(.malformedHead, "a control character")
        }
        line.append(byte)
        return false
    }

    private mutating func endLine() throws(HandshakeFailure) -> Head? {
        defer { line.removeAll(keepingCapacity: true) }
        guard let startLine else {
            let text = String(decoding: line, as: UTF8.self)
            _ = try Head(startLine: text, headers: [:])  // Whoever does not speak HTTP is told so at once.
            startLine = text
            return nil
        }
        guard line.isEmpty else {
            headers.add(try field())
            return nil
        }
        let head = try Head(startLine: startLine, headers: headers)
        self = Self(limit: limit)
        return head
    }

    private func field() throws(HandshakeFailure) -> HeaderField {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw HandshakeFailure(.malformedHead, "a header line without a colon")
        }
        // RFC 9112 §5.1 and §5.2: white space before the colon and folded lines are how requests are smuggled.
        guard colon > 0, line[..<colon].allSatisfy(HeaderSyntax.isTokenByte) else {
            throw HandshakeFailure(.malformedHead, "\(quoted(String(decoding: line[..<colon], as: UTF8.self))) is not a header name")
        }
        let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
        return HeaderField(name: String(decoding: line[..<colon], as: UTF8.self), value: String(HeaderSyntax.trimmed(value)))
    }
}
