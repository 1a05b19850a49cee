import MachineCore

/// The bytes of one run: choices first, then what the body reads.
struct FuzzInput {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isEmpty: Bool { rest.isEmpty }

    /// The next byte; 0 when there is none.
    mutating func byte() -> UInt8 {
        guard let byte = rest.first else { return 0 }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        return byte
    }

    /// A choice that the next byte makes.
    mutating func choose<Value>(_ choices: [Value]) -> Value { choices[Int(byte()) % choices.count] }

    /// The rest as text, repaired where it is not UTF-8.
    var text: String { String(decoding: rest, as: UTF8.self) }
}

extension UnsafeRawBufferPointer {
    /// Pieces whose lengths follow from `seed`: nearly always small; 0 cuts nowhere, 1 everywhere.
    func pieces(seed: UInt8) -> [UnsafeRawBufferPointer] {
        if seed == 0 { return [self] }
        var random = SplitMix64(seed: UInt64(seed))
        var (pieces, start) = ([] as [UnsafeRawBufferPointer], 0)
        while start < count {
            let length = seed == 1 ? 1 : Int.random(in: 1...(Bool.random(using: &random) ? 8 : 600), using: &random)
            pieces.append(UnsafeRawBufferPointer(rebasing: self[start...].prefix(length)))
            start += length
        }
        return pieces
    }
}
