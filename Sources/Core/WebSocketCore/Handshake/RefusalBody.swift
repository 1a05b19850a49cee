/// Keeps the first bytes of the body of a response that refused the upgrade, for error messages.
///
/// Understands `Content-Length`, chunked bodies (RFC 9112 §7.1) and bodies that end with the connection.
/// It only ever collects text for people, so a malformed body just ends.
public struct RefusalBody: Hashable, Sendable {
    /// What came so far, decoded, up to the limit.
    public private(set) var bytes: [UInt8] = []
    /// Whether nothing more is wanted: the body ended, or the limit is reached.
    public var isComplete: Bool { phase == .done || bytes.count >= limit }

    private enum Phase: Hashable {
        /// The rest of the body, or of a chunk, is this long.
        case data(remaining: Int)
        /// In the hexadecimal digits that begin a chunk.
        case size(Int, digits: Int)
        /// In what follows the size, up to the line's end.
        case sizeEnd(Int)
        /// In the line break after a chunk's data.
        case dataEnd
        case done
    }
    private let limit: Int
    private let isChunked: Bool
    private var phase: Phase

    /// Makes ready for the body that follows a head.
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

    /// Takes the bytes that came next; `true` when no more are wanted.
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
