/// Turns the bytes of a terminal in raw mode into keys, wherever the reads split them.
///
/// Escape sequences follow ECMA-48 §5.4 (`ESC [` parameters, intermediates, final byte); unknown ones are skipped completely. A lone
/// Escape waits for its next byte, because Escape alone has no meaning for the editor.
package struct KeyDecoder: Hashable, Sendable {
    private enum State: Hashable, Sendable {
        case ground
        case character([UInt8], length: Int)
        case escape
        case sequence([UInt8])
        case singleShift
        case paste([UInt8])
    }

    /// The maximum number of parameter bytes of a key.
    private static let sequenceLimit = 32
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    private var state = State.ground
    private var afterReturn = false

    package init() {}

    /// Returns the keys that these bytes complete, in order; typed characters that arrive together are one `.text`.
    package mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes { step(byte, into: &keys) }
        return keys
    }

    private mutating func step(_ byte: UInt8, into keys: inout [Key]) {
        switch state {
        case .ground: ground(byte, into: &keys)
        case .character(let bytes, let length): character(bytes + [byte], length, into: &keys)
        case .escape: escape(byte, into: &keys)
        case .sequence(let bytes): sequence(bytes, byte, into: &keys)
        case .singleShift:
            state = .ground
            if let key = Self.cursorKey(byte) { keys.append(key) }
        case .paste(var bytes):
            state = .ground  // Gives up the only other reference, so that the append does not copy.
            bytes.append(byte)
            guard byte == UInt8(ascii: "~"), bytes.suffix(Self.pasteEnd.count).elementsEqual(Self.pasteEnd) else {
                state = .paste(bytes)
                return
            }
            keys.append(.paste(String(decoding: bytes.dropLast(Self.pasteEnd.count), as: UTF8.self)))
        }
    }

    private mutating func ground(_ byte: UInt8, into keys: inout [Key]) {
        let followsReturn = afterReturn
        afterReturn = byte == 0x0D
        switch byte {
        case 0x0A where followsReturn: break  // Pasted CR LF is one line end.
        case 0x0D, 0x0A: keys.append(.enter)
        case 0x09: keys.append(.tab)
        case 0x08, 0x7F: keys.append(.backspace)
        case 0x1B: state = .escape
        case 0x01...0x1A: keys.append(.control(Character(UnicodeScalar(byte + 0x60))))
        case 0x20..<0x80: append(String(UnicodeScalar(byte)), to: &keys)
        case 0xC2...0xDF: state = .character([byte], length: 2)
        case 0xE0...0xEF: state = .character([byte], length: 3)
        case 0xF0...0xF4: state = .character([byte], length: 4)
        case 0x80...0xFF: append("\u{FFFD}", to: &keys)
        default: break
        }
    }

    private mutating func character(_ bytes: [UInt8], _ length: Int, into keys: inout [Key]) {
        guard let last = bytes.last, last & 0xC0 == 0x80 else {
            state = .ground
            append("\u{FFFD}", to: &keys)
            if let last = bytes.last { step(last, into: &keys) }
            return
        }
        guard bytes.count == length else { return state = .character(bytes, length: length) }
        state = .ground
        append(String(decoding: bytes, as: UTF8.self), to: &keys)
    }

    private mutating func escape(_ byte: UInt8, into keys: inout [Key]) {
        state = .ground
        switch byte {
        case UInt8(ascii: "["): state = .sequence([])
        case UInt8(ascii: "O"): state = .singleShift
        case 0x1B: state = .escape
        case 0x08, 0x7F: keys.append(.control("w"))
        case 0x20..<0x7F: keys.append(.alt(Character(UnicodeScalar(byte))))
        default: break
        }
    }

    private mutating func sequence(_ parameters: [UInt8], _ byte: UInt8, into keys: inout [Key]) {
        switch byte {
        case 0x20...0x3F where parameters.count < Self.sequenceLimit: state = .sequence(parameters + [byte])
        case 0x40...0x7E:
            state = .ground
            let text = String(decoding: parameters, as: UTF8.self)
            if byte == UInt8(ascii: "~"), text == "200" {
                state = .paste([])
            } else if let key = Self.key(parameters: text, final: byte) {
                keys.append(key)
            }
        default: state = .ground
        }
    }

    private func append(_ text: String, to keys: inout [Key]) {
        if case .text(let before) = keys.last {
            keys[keys.count - 1] = .text(before + text)
        } else {
            keys.append(.text(text))
        }
    }

    private static func key(parameters: String, final: UInt8) -> Key? {
        switch (final, parameters) {
        case (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
        case (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
        case (UInt8(ascii: "~"), "3"): .delete
        case (UInt8(ascii: "~"), "5"): .pageUp
        case (UInt8(ascii: "~"), "6"): .pageDown
        case (UInt8(ascii: "C"), "1;3"), (UInt8(ascii: "C"), "1;5"): .wordRight
        case (UInt8(ascii: "D"), "1;3"), (UInt8(ascii: "D"), "1;5"): .wordLeft
        default: cursorKey(final)
        }
    }

    private static func cursorKey(_ final: UInt8) -> Key? {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        default: nil
        }
    }
}

/// An action of the user: one key, one run of typed text, or one paste.
package enum Key: Hashable, Sendable {
    /// Printable characters, as typed.
    case text(String)
    /// Text between the marks of bracketed paste; it may contain line breaks.
    case paste(String)
    /// Control and a lower-case letter.
    case control(Character)
    /// Alt (or Escape) and a character.
    case alt(Character)
    case enter, tab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    case wordLeft, wordRight
}
