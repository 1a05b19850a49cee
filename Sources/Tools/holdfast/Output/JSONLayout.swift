/// Lays JSON text out over lines without touching its values: keys keep their order, numbers keep their digits.
///
/// The grammar is RFC 8259; text that breaks it is not laid out at all.
struct JSONLayout {
    /// Deeper nesting than this is shown as it came: a peer must not choose how deep this recursion goes.
    private static let depthLimit = 256

    private let input: [UInt8]
    private var position = 0
    private var output: [UInt8] = []

    private init(_ text: String) { input = Array(text.utf8) }

    /// The text over several lines, two spaces to a level, or nil when it is not JSON.
    static func pretty(_ text: String) -> String? {
        var layout = JSONLayout(text)
        layout.skipSpace()
        guard layout.value(depth: 0) else { return nil }
        layout.skipSpace()
        return layout.position == layout.input.count ? String(decoding: layout.output, as: UTF8.self) : nil
    }

    private var current: UInt8? { position < input.count ? input[position] : nil }

    private mutating func value(depth: Int) -> Bool {
        switch current {
        case UInt8(ascii: "{"): members(depth: depth, until: UInt8(ascii: "}")) { $0.member(depth: depth + 1) }
        case UInt8(ascii: "["): members(depth: depth, until: UInt8(ascii: "]")) { $0.value(depth: depth + 1) }
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "t"): word("true")
        case UInt8(ascii: "f"): word("false")
        case UInt8(ascii: "n"): word("null")
        default: number()
        }
    }

    private mutating func members(depth: Int, until end: UInt8, _ element: (inout JSONLayout) -> Bool) -> Bool {
        guard depth < Self.depthLimit else { return false }
        copy()
        skipSpace()
        if current == end { return copied() }
        while true {
            newLine(depth: depth + 1)
            guard element(&self) else { return false }
            skipSpace()
            if current == UInt8(ascii: ",") {
                copy()
                skipSpace()
            } else if current == end {
                newLine(depth: depth)
                return copied()
            } else {
                return false
            }
        }
    }

    private mutating func member(depth: Int) -> Bool {
        guard current == UInt8(ascii: "\""), string() else { return false }
        skipSpace()
        guard current == UInt8(ascii: ":") else { return false }
        copy()
        output.append(UInt8(ascii: " "))
        skipSpace()
        return value(depth: depth)
    }

    private mutating func string() -> Bool {
        copy()
        while let byte = current {
            copy()
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard escape() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func escape() -> Bool {
        switch current {
        case UInt8(ascii: "u"):
            copy()
            return (0..<4).allSatisfy { _ in
                guard let byte = current, Character(UnicodeScalar(byte)).isHexDigit else { return false }
                return copied()
            }
        case let byte? where "\"\\/bfnrt".utf8.contains(byte): return copied()
        default: return false
        }
    }

    private mutating func number() -> Bool {
        if current == UInt8(ascii: "-") { copy() }
        if current == UInt8(ascii: "0") {
            copy()
        } else if digits() == 0 {
            return false
        }
        if current == UInt8(ascii: ".") {
            copy()
            guard digits() > 0 else { return false }
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            copy()
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { copy() }
            guard digits() > 0 else { return false }
        }
        return true
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = current, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { copy() }
        return position - start
    }

    private mutating func word(_ word: StaticString) -> Bool {
        let bytes = Array("\(word)".utf8)
        guard input[position...].starts(with: bytes) else { return false }
        output += bytes
        position += bytes.count
        return true
    }

    private mutating func copy() {
        guard let byte = current else { return }
        output.append(byte)
        position += 1
    }

    private mutating func copied() -> Bool {
        copy()
        return true
    }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func newLine(depth: Int) {
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
    }
}
