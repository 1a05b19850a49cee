/// Separates content from framing in the body of an HTTP/1 request, and finds its end (RFC 9112 §6 and §7).
///
/// The reader is strict: it rejects ambiguous framing, because a proxy in front of this server may interpret it differently.
package struct BodyReader: Hashable, Sendable {
    /// The meaning of the next bytes.
    package enum Step: Hashable, Sendable {
        /// This many bytes are content, at least one.
        case content(Int)
        /// This many bytes are framing, at least one.
        case framing(Int)
        /// More bytes are needed.
        case more
        /// The body has ended before these bytes: they belong to another request.
        case end
    }

    fileprivate enum State: Hashable, Sendable {
        /// This many bytes are still to come.
        case plain(UInt64)
        /// In the digits of a chunk's length.
        case size(UInt64, digits: Int)
        /// In blanks after the length. Only an extension may follow.
        case blanks(UInt64, Int)
        /// In an extension, after this many of its bytes.
        case extensions(UInt64, Int)
        /// In the line end after the length.
        case sizeEnd(UInt64)
        case chunk(UInt64)
        case chunkEnd(UInt8)
        /// In the fields after the last chunk: the bytes read so far, and those of the current line.
        case trailers(Int, line: Int)
        case trailerEnd(Int, isLast: Bool)
        case ended
    }

    /// The maximum number of bytes in an extension of one chunk, and in all trailer fields.
    fileprivate static let mostFraming = 8 * 1024

    private var state: State

    /// Creates a reader for the body that a head announces.
    ///
    /// - Throws: ``HandshakeFailure/Kind/invalidBody`` if its length is invalid or given twice; ``HandshakeFailure/Kind/unsupportedCoding``
    ///   if it has a transfer coding other than chunked.
    package init(of request: RequestHead) throws(HandshakeFailure) {
        let (lengths, codings) = (request.headers.values("Content-Length"), request.headers.values("Transfer-Encoding"))
        guard codings.isEmpty else {
            guard lengths.isEmpty else {
                throw HandshakeFailure(.invalidBody, "a body has a Content-Length or a Transfer-Encoding, not both")
            }
            guard request.minorVersion >= 1 else { throw HandshakeFailure(.invalidBody, "HTTP/1.0 has no Transfer-Encoding") }
            guard codings.count == 1, HeaderSyntax.isEqual(codings[0], "chunked") else {
                throw HandshakeFailure(.unsupportedCoding, "\(quoted(codings.joined(separator: ", "))) instead of chunked")
            }
            state = .size(0, digits: 0)
            return
        }
        guard !lengths.isEmpty else {
            state = .ended
            return
        }
        guard lengths.count == 1, lengths[0].utf8.count <= 18, HeaderSyntax.isDecimal(lengths[0]), let length = UInt64(lengths[0]) else {
            throw HandshakeFailure(.invalidBody, "the Content-Length \(quoted(lengths.joined(separator: ", "))) is invalid")
        }
        state = length == 0 ? .ended : .plain(length)
    }

    /// Whether the body has been read completely.
    package var isAtEnd: Bool { state == .ended }

    /// Returns the meaning of the first of these bytes, and consumes as many as it reports.
    ///
    /// - Throws: ``HandshakeFailure/Kind/invalidBody`` if the chunks violate a rule.
    package mutating func next(_ bytes: UnsafeRawBufferPointer) throws(HandshakeFailure) -> Step {
        if state == .ended { return .end }
        let count = bytes.count
        guard count > 0 else { return .more }
        switch state {
        case .plain(let left): return .content(take(count, of: left) { $0 == 0 ? .ended : .plain($0) })
        case .chunk(let left): return .content(take(count, of: left) { $0 == 0 ? .chunkEnd(UInt8(ascii: "\r")) : .chunk($0) })
        default: break
        }
        var used = 0
        while used < count {
            switch state {
            case .plain, .chunk, .ended: return .framing(used)
            default:
                state = try unsafe state.after(bytes[used])
                used += 1
            }
        }
        return .framing(used)
    }

    private mutating func take(_ count: Int, of left: UInt64, _ next: (UInt64) -> State) -> Int {
        let taken = min(UInt64(count), left)
        state = next(left - taken)
        return Int(taken)
    }
}

extension BodyReader.State {
    private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

    /// Returns the state after one byte of framing.
    fileprivate func after(_ byte: UInt8) throws(HandshakeFailure) -> Self {
        switch self {
        case .size(let size, let digits):
            if let digit = Self.digit(byte) {
                guard digits < 15 else { throw Self.broken("the length of a chunk has more than 15 digits") }
                return .size(size << 4 | UInt64(digit), digits: digits + 1)
            }
            guard digits > 0 else { throw Self.broken("a chunk has no length") }
            if byte == Self.cr { return .sizeEnd(size) }
            if HeaderSyntax.isBlank(byte) { return .blanks(size, 1) }
            guard byte == UInt8(ascii: ";") else { throw Self.broken("the length of a chunk is not a number") }
            return .extensions(size, 1)
        case .blanks(let size, let count):
            // RFC 9112 §7.1.1 allows blanks before a semicolon only. Otherwise readers that strip blanks and readers that do not could read
            // different lengths.
            if byte == UInt8(ascii: ";") { return .extensions(size, count + 1) }
            guard HeaderSyntax.isBlank(byte), count < BodyReader.mostFraming else {
                throw Self.broken("blanks after the length of a chunk")
            }
            return .blanks(size, count + 1)
        case .extensions(let size, let count):
            if byte == Self.cr { return .sizeEnd(size) }
            guard HeaderSyntax.isFieldByte(byte), count < BodyReader.mostFraming else { throw Self.broken("an invalid chunk extension") }
            return .extensions(size, count + 1)
        case .sizeEnd(let size):
            guard byte == Self.lf else { throw Self.broken("a line does not end with CR LF") }
            return size == 0 ? .trailers(0, line: 0) : .chunk(size)
        case .chunkEnd(let wanted):
            guard byte == wanted else { throw Self.broken("a chunk is longer than its length") }
            return wanted == Self.cr ? .chunkEnd(Self.lf) : .size(0, digits: 0)
        case .trailers(let count, let line):
            if byte == Self.cr { return .trailerEnd(count, isLast: line == 0) }
            guard HeaderSyntax.isFieldByte(byte), count < BodyReader.mostFraming else {
                throw Self.broken("invalid fields after the last chunk")
            }
            return .trailers(count + 1, line: line + 1)
        case .trailerEnd(let count, let isLast):
            guard byte == Self.lf else { throw Self.broken("a line does not end with CR LF") }
            return isLast ? .ended : .trailers(count + 2, line: 0)
        case .plain, .chunk, .ended: return self
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func broken(_ rule: String) -> HandshakeFailure {
        HandshakeFailure(.invalidBody, "the chunked body is invalid: \(rule)")
    }
}

/// Collects the first bytes of the body of a response that refused the upgrade, for error messages.
///
/// It supports `Content-Length`, chunked bodies (RFC 9112 §7.1) and bodies that end with the connection. It only collects text for people,
/// so a malformed body simply ends.
public struct RefusalBody: Hashable, Sendable {
    /// The decoded bytes so far, up to the limit.
    public private(set) var bytes: [UInt8] = []
    /// Whether no more bytes are needed: the body has ended, or the limit is reached.
    public var isComplete: Bool { phase == .done || bytes.count >= limit }

    private enum Phase: Hashable {
        /// In data: this much of the body, or of a chunk, remains.
        case data(remaining: Int)
        /// In the hexadecimal digits of a chunk's length.
        case size(Int, digits: Int)
        /// After the length, up to the end of the line.
        case sizeEnd(Int)
        /// In the line break after a chunk's data.
        case dataEnd
        case done
    }
    private let limit: Int
    private let isChunked: Bool
    private var phase: Phase

    /// Creates a collector for the body that follows a head.
    public init(of response: ResponseHead, limit: Int = 4096) {
        self.limit = limit
        let lengths = Set(response.headers.values("Content-Length"))
        isChunked = response.headers.contains("chunked", in: "Transfer-Encoding")
        if 100...199 ~= response.status || [204, 304].contains(response.status) {  // RFC 9112 §6.3
            phase = .done
        } else if isChunked {
            phase = .size(0, digits: 0)
        } else if lengths.count == 1, let text = lengths.first, HeaderSyntax.isDecimal(text), let length = Int(text) {
            phase = length == 0 ? .done : .data(remaining: length)
        } else {
            phase = .data(remaining: .max)
        }
    }

    /// Adds the next bytes; returns true if no more are needed.
    public mutating func append(_ input: UnsafeRawBufferPointer) -> Bool {
        var input = unsafe input[...]
        while !isComplete, let byte = unsafe input.first {
            if case .data(let remaining) = phase {
                let count = unsafe min(remaining, limit - bytes.count, input.count)
                unsafe bytes.append(contentsOf: input.prefix(count))
                unsafe input = input.dropFirst(count)
                phase = remaining > count ? .data(remaining: remaining - count) : isChunked ? .dataEnd : .done
            } else {
                unsafe input = input.dropFirst()
                step(byte)
            }
        }
        return isComplete
    }

    private mutating func step(_ byte: UInt8) {
        switch (phase, byte) {
        case (.size(let size, let digits), _):
            if let digit = Character(Unicode.Scalar(byte)).hexDigitValue {
                phase = digits < 15 ? .size(size << 4 | digit, digits: digits + 1) : .done
            } else if digits == 0 {
                phase = .done
            } else {
                phase = byte == HeaderSyntax.lineFeed ? chunk(of: size) : .sizeEnd(size)
            }
        case (.sizeEnd(let size), HeaderSyntax.lineFeed): phase = chunk(of: size)
        case (.dataEnd, HeaderSyntax.lineFeed): phase = .size(0, digits: 0)
        case (.dataEnd, HeaderSyntax.carriageReturn), (.sizeEnd, _): break
        case (.dataEnd, _), (.data, _), (.done, _): phase = .done
        }
    }

    private func chunk(of size: Int) -> Phase { size == 0 ? .done : .data(remaining: size) }
}
