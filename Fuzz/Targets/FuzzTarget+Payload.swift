import WebSocketCore

extension FuzzTarget {
    static func payload(_ input: inout FuzzInput) throws {
        let (seed, phase) = (input.byte(), Int(input.byte()))
        let key = (0..<4).map { _ in input.byte() }
        try masking(input.rest, key: key, phase: phase, seed: seed)
        try text(input.rest, seed: seed)
        try closeFrame(input.rest)
    }

    private static func masking(_ bytes: UnsafeRawBufferPointer, key: [UInt8], phase: Int, seed: UInt8) throws {
        let expected = bytes.enumerated().map { $1 ^ key[($0 + phase) % 4] }
        let mask = MaskKey(bits: key.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
        var (copied, applied) = ([UInt8](repeating: 0, count: bytes.count), Array(bytes))
        var done = 0
        for piece in bytes.pieces(seed: seed) {
            copied.withUnsafeMutableBytes {
                mask.copy(piece, to: UnsafeMutableRawBufferPointer(rebasing: $0[done...]), phase: phase + done)
            }
            applied.withUnsafeMutableBytes {
                mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[done...].prefix(piece.count)), phase: phase + done)
            }
            done += piece.count
        }
        try expectEqual(copied, expected, "masking while copying")
        try expectEqual(applied, expected, "masking in place")
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, seed: UInt8) throws {
        let isText = String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
        for seed in [0, seed] {
            var validator = UTF8Validator()
            let isValid = bytes.pieces(seed: seed).allSatisfy { validator.validate($0) }
            try expectEqual(isValid && validator.isComplete, isText, "UTF-8 is judged another way than by the standard library")
        }
    }

    private static func closeFrame(_ bytes: UnsafeRawBufferPointer) throws {
        let payload = UnsafeRawBufferPointer(rebasing: bytes.prefix(125))
        guard let frame = try? CloseFrame(payload: payload) else { return }
        try expectEqual(frame.payload, Array(payload), "a close frame is not written as it was read")
        try expect(frame.code?.mayBeReceived ?? true, "a code that must not be sent")
    }
}
