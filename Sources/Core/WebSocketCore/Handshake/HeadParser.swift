/// A streaming parser of HTTP/1 message heads: strict, bounded, in linear time.
///
/// It rejects the following, although RFC 9112 allows a lenient reader to accept some of it: folded lines, a space before the colon, line
/// breaks other than CR LF, control characters, and names that are not tokens.
package struct HeadParser<Head: MessageHead>: Sendable {
    private var lines: HeadLines
    /// The parsed first line.
    ///
    /// Its fields follow.
    private var head: Head?
    private var failure: HandshakeFailure?

    /// Creates a parser for heads of at most `limit` bytes, including the blank line.
    package init(limit: Int = 16 * 1024) { lines = HeadLines(limit: limit) }

    /// Parses more bytes, and advances `bytes` past those that were used, never beyond the blank line that ends a head.
    ///
    /// Returns nil if all bytes were used and more are needed. After a head, the next call begins a new one. Throws as soon as the head is
    /// invalid, and the same failure on every later call.
    package mutating func parse(_ bytes: inout UnsafeRawBufferPointer) throws(HandshakeFailure) -> Head? {
        if let failure { throw failure }
        do throws(HandshakeFailure) {
            while let part = try unsafe lines.next(&bytes) {
                switch part {
                case .start(let line): head = try Head(startLine: line, headers: [:])  // Rejects other protocols at once.
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

/// Splits the head of an HTTP/1 message into its first line and its fields, for `HeadParser`.
struct HeadLines: Sendable {
    enum Part {
        /// The first line, without its line break.
        case start(String)
        /// All the fields, after the blank line.
        case fields(HeaderFields)
    }
    let limit: Int
    private var count = 0
    /// A line that was split by the end of a read.
    private var cut: [UInt8] = []
    private var isStarted = false
    private var headers = HeaderFields()

    init(limit: Int) { self.limit = limit }

    /// Returns the next part and advances `bytes` past it; nil if all bytes were used and more are needed.
    mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(HandshakeFailure) -> Part? {
        while unsafe !bytes.isEmpty {
            if cut.isEmpty, let length = unsafe wholeLine(in: bytes) {
                count += length + 2
                let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<length])
                unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes[(length + 2)...])
                if let part = try unsafe end(line) { return part }
            } else if try unsafe take(bytes[0], &bytes) {
                let line = cut
                cut = []
                let ended = unsafe line.withUnsafeBytes { line in Result { () throws(HandshakeFailure) in try unsafe end(line) } }
                if let part = try ended.get() { return part }
            }
        }
        return nil
    }

    /// Returns the length of the first line in `bytes`; nil if it is incomplete or invalid.
    private func wholeLine(in bytes: UnsafeRawBufferPointer) -> Int? {
        var length = 0
        while unsafe length < bytes.count && HeaderSyntax.isFieldByte(bytes[length]) { length += 1 }
        let end = length + 2
        guard end <= bytes.count, count + end <= limit else { return nil }
        return unsafe bytes[length] == HeaderSyntax.carriageReturn && bytes[length + 1] == HeaderSyntax.lineFeed ? length : nil
    }

    /// Moves a byte to the line; returns true if it ends the line.
    private mutating func take(_ byte: UInt8, _ bytes: inout UnsafeRawBufferPointer) throws(HandshakeFailure) -> Bool {
        unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        count += 1
        guard count <= limit else { throw HandshakeFailure(.headTooLarge, "more than \(limit) bytes") }
        let afterReturn = cut.last == HeaderSyntax.carriageReturn
        guard (byte == HeaderSyntax.lineFeed) == afterReturn else {
            throw HandshakeFailure(.malformedHead, "a line does not end with CR LF")
        }
        if afterReturn {
            cut.removeLast()
            return true
        }
        guard HeaderSyntax.isFieldByte(byte) || byte == HeaderSyntax.carriageReturn else {
            throw HandshakeFailure(.malformedHead, "a control character")
        }
        cut.append(byte)
        return false
    }

    private mutating func end(_ line: UnsafeRawBufferPointer) throws(HandshakeFailure) -> Part? {
        guard isStarted else {
            isStarted = true
            return .start(unsafe String(decoding: line, as: UTF8.self))
        }
        guard unsafe line.isEmpty else {
            headers.add(try unsafe Self.field(line))
            return nil
        }
        let fields = headers
        self = Self(limit: limit)
        return .fields(fields)
    }

    private static func field(_ line: UnsafeRawBufferPointer) throws(HandshakeFailure) -> HeaderField {
        var colon = 0
        while unsafe colon < line.count && HeaderSyntax.isTokenByte(line[colon]) { colon += 1 }
        // RFC 9112 §5.1 and §5.2: white space before the colon and folded lines enable request smuggling.
        guard unsafe colon > 0 && colon < line.count && line[colon] == UInt8(ascii: ":") else {
            guard let end = unsafe line.firstIndex(of: UInt8(ascii: ":")) else {
                throw HandshakeFailure(.malformedHead, "a header line without a colon")
            }
            throw HandshakeFailure(.malformedHead, "\(quoted(unsafe String(decoding: line[..<end], as: UTF8.self))) is not a header name")
        }
        var (start, end) = (colon + 1, line.count)
        while unsafe start < end && HeaderSyntax.isBlank(line[start]) { start += 1 }
        while unsafe start < end && HeaderSyntax.isBlank(line[end - 1]) { end -= 1 }
        let (name, value) = unsafe (UnsafeRawBufferPointer(rebasing: line[..<colon]), UnsafeRawBufferPointer(rebasing: line[start..<end]))
        return unsafe HeaderField(name: HeaderSyntax.knownName(name), value: String(decoding: value, as: UTF8.self))
    }
}

/// The character rules of HTTP that the handshake needs, on bytes (RFC 9110 §5.6).
///
/// Only ASCII is lower-cased: `String.lowercased()` would turn the Kelvin sign into a `k`.
enum HeaderSyntax {
    static func isToken(_ text: some StringProtocol) -> Bool {
        unsafe withBytes(of: text) { unsafe !$0.isEmpty && $0.allSatisfy(isTokenByte) }
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"): true
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"): true
        case UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Returns whether the text has no control characters except tabs, especially no CR, LF or NUL (RFC 9110 §5.5).
    static func isFieldValue(_ text: some StringProtocol) -> Bool { unsafe withBytes(of: text) { unsafe $0.allSatisfy(isFieldByte) } }

    static func isFieldByte(_ byte: UInt8) -> Bool { byte == tab || (byte >= space && byte != 0x7F) }

    /// Returns whether the text is printable ASCII without spaces.
    static func isVisible(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }

    static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool { !bytes.isEmpty && bytes.allSatisfy(isTokenByte) }

    static func isVisible(_ bytes: ArraySlice<UInt8>) -> Bool { !bytes.isEmpty && bytes.allSatisfy { 0x21...0x7E ~= $0 } }

    static func isDecimal(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.lazy.map(lowercased), as: UTF8.self)
    }

    static func isEqual(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return unsafe withBytes(of: one) { one in
            unsafe withBytes(of: other) { other in
                one.indices.allSatisfy { unsafe lowercased(one[$0]) == lowercased(other[$0]) }
            }
        }
    }

    /// Calls `body` with the UTF-8 of the text.
    ///
    /// Iterating over a string's own view is many times slower.
    private static func withBytes<Result>(of text: some StringProtocol, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = text.utf8.withContiguousStorageIfAvailable({ unsafe body($0) }) { return result }
        return unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe body($0) }
    }

    /// Returns the text without leading and trailing spaces and tabs.
    static func trimmed<Text: StringProtocol>(_ text: Text) -> Text.SubSequence {
        let scalars = text.unicodeScalars
        let isText = { (scalar: Unicode.Scalar) in scalar != " " && scalar != "\t" }
        guard let first = scalars.firstIndex(where: isText), let last = scalars.lastIndex(where: isText) else {
            return text[text.endIndex...]
        }
        return text[first..<scalars.index(after: last)]
    }

    /// Returns the trimmed elements of a comma-separated list (RFC 9110 §5.6.1), without empty ones.
    static func list(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).map { String(trimmed(Substring($0))) }.filter { !$0.isEmpty }
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// Returns a field name.
    ///
    /// Names of every handshake that are too long for inline storage are shared and need no memory of their own.
    static func knownName(_ name: UnsafeRawBufferPointer) -> String {
        for known in knownNames where known.utf8.count == name.count {
            let isSame = unsafe withBytes(of: known) { known in known.indices.allSatisfy { unsafe known[$0] == name[$0] } }
            if isSame { return known }
        }
        return unsafe String(decoding: name, as: UTF8.self)
    }

    private static let knownNames = [
        "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Accept", "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol",
    ]

    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
}

/// Returns foreign text in a form that is safe for messages: at most 64 characters, all printable ASCII.
func printable(_ text: some StringProtocol) -> String {
    let scalars = text.unicodeScalars
    return scalars.prefix(64).map { $0.escaped(asASCII: true) }.joined() + (scalars.dropFirst(64).isEmpty ? "" : "…")
}

/// ``printable(_:)`` in quotes.
func quoted(_ text: some StringProtocol) -> String { "`\(printable(text))`" }
