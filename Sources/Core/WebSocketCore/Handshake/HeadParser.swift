/// Reads the heads of HTTP/1 messages from bytes as they arrive: strict, bounded, in linear time.
///
/// Refused, though RFC 9112 lets a lenient reader pass some of it: folded lines, a space before
/// the colon, line breaks other than CR LF, control characters, names that are not tokens.
public struct HeadParser<Head: MessageHead>: Sendable {
    private var lines: HeadLines
    /// What the first line said; its fields follow.
    private var head: Head?
    private var failure: HandshakeFailure?

    /// Makes a parser that takes heads of at most `limit` bytes, the blank line included.
    public init(limit: Int = 16 * 1024) { lines = HeadLines(limit: limit) }

    /// Reads on, advancing `bytes` past what was used: never beyond the blank line that ends a head.
    ///
    /// Returns `nil` when all bytes are used and more are needed. After a head, the next call begins another one.
    /// Throws as soon as the head cannot be right, and the same failure ever after.
    public mutating func parse(_ bytes: inout UnsafeRawBufferPointer) throws(HandshakeFailure) -> Head? {
        if let failure { throw failure }
        do throws(HandshakeFailure) {
            while let part = try unsafe lines.next(&bytes) {
                switch part {
                case .start(let line): head = try Head(startLine: line, headers: [:])  // Whoever does not speak HTTP is told so at once.
                case .fields(let headers):
                    guard var whole = head.take() else { break }
                    whole.headers = headers
                    return whole
                }
            }
            return nil
        } catch {
            self = Self(limit: lines.limit)
            failure = error
            throw error
        }
    }
}
