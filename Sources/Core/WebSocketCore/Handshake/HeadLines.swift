/// Cuts the head of an HTTP/1 message into its first line and its fields, for ``HeadParser``.
struct HeadLines: Sendable {
    enum Part {
        /// The first line, without its line break.
        case start(String)
        /// All the fields: the blank line came.
        case fields(HeaderFields)
    }
    let limit: Int
    private var count = 0
    /// A line that is cut by the end of a read.
    private var cut: [UInt8] = []
    private var isStarted = false
    private var headers = HeaderFields()

    init(limit: Int) { self.limit = limit }

    /// The next part in `bytes`, which moves on past what was used; nil when all is used and more is needed.
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

    /// The length of the line that `bytes` begin with; nil if it is not whole, or something is wrong with it.
    private func wholeLine(in bytes: UnsafeRawBufferPointer) -> Int? {
        var length = 0
        while unsafe length < bytes.count && HeaderSyntax.isFieldByte(bytes[length]) { length += 1 }
        let end = length + 2
        guard end <= bytes.count, count + end <= limit else { return nil }
        return unsafe bytes[length] == HeaderSyntax.carriageReturn && bytes[length + 1] == HeaderSyntax.lineFeed ? length : nil
    }

    /// Moves a byte to the line; `true` when that ends it.
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
        // RFC 9112 §5.1 and §5.2: white space before the colon and folded lines are how requests are smuggled.
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
