import Testing
import WebSocketCore

/// The encodings of all scalars by the standard library, and the prefixes of them.
private struct Encodings {
    /// Complete encodings as numbers, and prefixes of encodings.
    private var complete: Set<UInt32> = []
    private var prefixes: Set<UInt32> = []

    static let all = Encodings()

    private init() {
        complete.reserveCapacity(1 << 21)
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value), let encoding = UTF8.encode(scalar) else { continue }
            var number: UInt32 = 0
            for (index, byte) in encoding.enumerated() {
                number = number << 8 | UInt32(byte)
                if index < encoding.count - 1 { prefixes.insert(number) } else { complete.insert(number) }
            }
        }
    }

    /// The number of well-formed bytes, and whether they end at a character's end.
    func verdict(_ bytes: some Sequence<UInt8>) -> (goodBytes: Int, isComplete: Bool) {
        var (good, number) = (0, 0 as UInt32)
        for byte in bytes {
            number = number << 8 | UInt32(byte)
            if complete.contains(number) { number = 0 } else if !prefixes.contains(number) { return (good, number >> 8 == 0) }
            good += 1
        }
        return (good, number == 0)
    }
}

@Suite struct UTF8ValidatorTests {
    /// Bytes at the limits of the rules.
    static let borders: [UInt8] = [
        0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
        0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    static let samples: [[UInt8]] =
        ["", "a", "Grüße", "κόσμε", "日本語", "😀🎉", "\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\u{D7FF}\u{E000}"].map { Array($0.utf8) } + [
            [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0x80], [0xBF], [0xFE], [0xFF], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xC3, 0x41], [0xE2, 0x82, 0x41],
            [0xF0, 0x9F, 0x98, 0x41], [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xF4, 0x90, 0x80, 0x80, 0x65],
        ]

    private func agrees(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = UTF8Validator()
        let expected = Encodings.all.verdict(bytes)
        guard validator.validate(bytes) == (expected.goodBytes == bytes.count) else { return false }
        return expected.goodBytes < bytes.count || validator.isComplete == expected.isComplete
    }

    private func agrees(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { agrees($0) } }

    @Test func `every reachable state accepts exactly the bytes that may follow`() {
        var known: [UTF8Validator: [UInt8]] = [UTF8Validator(): []]
        var open = Array(known)
        while let (state, path) = open.popLast() {
            for byte in UInt8.min...UInt8.max {
                var next = state
                let accepted = withUnsafeBytes(of: byte) { next.validate($0) }
                let expected = Encodings.all.verdict(path + [byte])
                #expect(accepted == (expected.goodBytes == path.count + 1), "\(path) then \(byte)")
                guard accepted else { continue }
                #expect(next.isComplete == expected.isComplete)
                #expect(next.isASCII == (path + [byte]).allSatisfy { $0 < 0x80 })
                if known.updateValue(path + [byte], forKey: next) == nil { open.append((next, path + [byte])) }
            }
        }
        #expect(known.count <= 10)
    }

    @Test func `all sequences of one and two bytes match the standard library`() {
        for first in UInt8.min...UInt8.max {
            #expect(agrees([first]))
            for second in UInt8.min...UInt8.max {
                // The second form is long enough for the path that reads words.
                guard agrees([first, second]), agrees([first, second, 0x41, 0x41]) else {
                    Issue.record("\(first) \(second)")
                    continue
                }
            }
        }
    }

    @Test(arguments: 0xE0...0xEF as ClosedRange<UInt8>) func `all sequences of three bytes match the standard library`(
        first: UInt8
    ) {
        var bytes: [UInt8] = [first, 0, 0, 0x41]
        for second in UInt8.min...UInt8.max {
            for third in UInt8.min...UInt8.max {
                (bytes[1], bytes[2]) = (second, third)
                guard agrees(bytes) else {
                    Issue.record("\(bytes)")
                    return
                }
            }
        }
    }

    @Test func `sequences of four bytes at the limits of the rules match the standard library`() {
        for first in Self.borders {
            for second in Self.borders {
                for third in Self.borders {
                    for fourth in Self.borders {
                        guard agrees([first, second, third, fourth]) else {
                            Issue.record("\(first) \(second) \(third) \(fourth)")
                            return
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: samples) func `a stream split at any point has the same verdict as the whole`(sample: [UInt8]) {
        for padding in 0..<40 {
            let bytes = [UInt8](repeating: 0x61, count: padding) + sample + [UInt8](repeating: 0x7A, count: padding % 9)
            #expect(agrees(bytes))
            let isGood = Encodings.all.verdict(bytes).goodBytes == bytes.count
            for split in 0...bytes.count {
                var validator = UTF8Validator()
                let accepted = [bytes[..<split], bytes[split...]].allSatisfy { part in part.withUnsafeBytes { validator.validate($0) } }
                #expect(accepted == isGood)
            }
        }
    }

    @Test func `the first invalid byte is refused at once at every position`() {
        for sample in Self.samples {
            for padding in 0..<40 {
                let bytes = [UInt8](repeating: 0x61, count: padding) + sample
                let good = Encodings.all.verdict(bytes).goodBytes
                var validator = UTF8Validator()
                #expect(bytes[..<good].withUnsafeBytes { validator.validate($0) })
                if good < bytes.count { #expect(!bytes[...good].withUnsafeBytes { UTF8Validator.accepts($0) }) }
            }
        }
    }

    @Test func `a byte that is not ASCII is found at every position of a long text`() {
        for length in 0..<100 {
            for place in 0..<length {
                var bytes = [UInt8](repeating: 0x61, count: length)
                bytes[place] = 0xFF
                #expect(!bytes.withUnsafeBytes { UTF8Validator.accepts($0) })
            }
        }
    }
}

extension UTF8Validator {
    fileprivate static func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = UTF8Validator()
        return validator.validate(bytes)
    }
}
