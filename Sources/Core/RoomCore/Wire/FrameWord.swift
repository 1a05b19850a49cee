/// A name of the protocol, of a field or a frame, as two numbers: compared at once, and made without memory.
struct FrameWord: Equatable, ExpressibleByStringLiteral {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// One that no name of the protocol equals.
    static let unknown: FrameWord = {
        var word = FrameWord()
        (word.low, word.high) = (.max, .max)
        return word
    }()

    private init() {}

    @inline(__always) init(stringLiteral text: StaticString) {
        for place in 0..<min(text.utf8CodeUnitCount, 16) { unsafe set(text.utf8Start[place], at: place) }
    }

    /// The name that these bytes are; ``unknown`` if they are too many, or none at all.
    init(_ bytes: UnsafeRawBufferPointer) {
        // What is left of the two numbers is 0.
        guard (1...16).contains(bytes.count), unsafe bytes[bytes.count - 1] != 0 else {
            self = .unknown
            return
        }
        for place in 0..<bytes.count { unsafe set(bytes[place], at: place) }
    }

    @inline(__always) private mutating func set(_ byte: UInt8, at place: Int) {
        if place < 8 { low |= UInt64(byte) << UInt64(8 * place) } else { high |= UInt64(byte) << UInt64(8 * (place - 8)) }
    }
}
