import MachineCore

/// The bytes of a run: choices first, then the input.
struct FuzzInput {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isEmpty: Bool { rest.isEmpty }

    /// The next byte, or 0 at the end.
    mutating func byte() -> UInt8 {
        guard let byte = rest.first else { return 0 }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        return byte
    }

    /// A choice by the next byte.
    mutating func choose<Value>(_ choices: [Value]) -> Value { choices[Int(byte()) % choices.count] }

    /// The rest as text, with invalid UTF-8 replaced.
    var text: String { String(decoding: rest, as: UTF8.self) }
}

extension UnsafeRawBufferPointer {
    /// Pieces whose lengths depend on `seed`, mostly small.
    ///
    /// 0 cuts nowhere, 1 everywhere.
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
