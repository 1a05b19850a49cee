import Testing

@testable import HoldfastTerminal

@Suite struct KeyDecoderTests {
    private static let script =
        "aé日👩‍👧\r\n\t\u{7F}\u{01}\u{1B}b\u{1B}[A\u{1B}[1;5C\u{1B}OH\u{1B}[3~\u{1B}[5~\u{1B}[6~"
        + "\u{1B}[200~x\r\n\u{1B}[Ay\u{1B}[201~z\u{1B}[99;99u!"
    private static let keys: [Key] = [
        .text("aé日👩‍👧"), .enter, .tab, .backspace, .control("a"), .alt("b"), .up, .wordRight, .home, .delete, .pageUp, .pageDown,
        .paste("x\r\n\u{1B}[Ay"), .text("z!"),
    ]

    private static func joined(_ keys: [Key]) -> [Key] {
        keys.reduce(into: []) { result, key in
            if case .text(let next) = key, case .text(let before) = result.last {
                result[result.count - 1] = .text(before + next)
            } else {
                result.append(key)
            }
        }
    }

    @Test func `keys come out the same at every split point`() {
        let bytes = Array(Self.script.utf8)
        for split in 0...bytes.count {
            var decoder = KeyDecoder()
            let keys = decoder.decode(bytes[..<split]) + decoder.decode(bytes[split...])
            #expect(Self.joined(keys) == Self.keys, "split at \(split)")
        }
    }

    @Test func `keys come out the same byte by byte`() {
        var decoder = KeyDecoder()
        #expect(Self.joined(Self.script.utf8.flatMap { decoder.decode([$0]) }) == Self.keys)
    }

    @Test(arguments: [
        ([0xFF, 0x61], "\u{FFFD}a"), ([0xC3, 0x61], "\u{FFFD}a"), ([0xE6, 0x97, 0x61], "\u{FFFD}a"), ([0x80], "\u{FFFD}"),
        ([0xED, 0xA0, 0x80, 0x61], "\u{FFFD}\u{FFFD}\u{FFFD}a"), ([0xC3, 0xC3, 0xA9], "\u{FFFD}é"),
    ])
    func `bytes that are not UTF-8 become replacement characters`(bytes: [UInt8], text: String) {
        var decoder = KeyDecoder()
        #expect(Self.joined(decoder.decode(bytes)) == [.text(text)])
    }

    @Test func `an endless sequence is given up and typing goes on`() {
        var decoder = KeyDecoder()
        let keys = decoder.decode(Array("\u{1B}[".utf8) + [UInt8](repeating: UInt8(ascii: "1"), count: 200) + Array("\rok\r".utf8))
        #expect(keys.suffix(2) == [.text("ok"), .enter])
    }

    @Test func `every byte in every state is survived`() {
        let openings = ["", "\u{1B}", "\u{1B}[", "\u{1B}[1", "\u{1B}O", "\u{1B}[200~", "\u{1B}[200~\u{1B}[201"]
        for opening in openings {
            for byte in UInt8.min...UInt8.max {
                var decoder = KeyDecoder()
                let closing = Array("\u{1B}[201~\r\r".utf8)
                #expect(decoder.decode(Array(opening.utf8) + [byte] + closing).contains(.enter))
            }
        }
    }
}
