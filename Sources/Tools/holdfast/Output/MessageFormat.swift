import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastTerminal
import MachineCore

/// The format of printed messages: one for terminals, one for pipes.
///
/// On a terminal, a mark shows the direction, and control sequences from the peer are escaped. In a pipe, text is printed unmarked and
/// unchanged, so that `jq` and `head` see what the peer sent.
struct MessageFormat: Hashable, Sendable {
    enum Direction: Hashable, Sendable { case sent, received }

    /// Whether JSON is formatted over several lines.
    var isJSONPretty = false
    /// Whether binary messages are dumped completely.
    var isBinaryDumped = false
    /// Whether the output is for a person at a terminal.
    var isForTerminal: Bool
    var style: Style = .plain

    /// Returns the lines of a message, without a final line break.
    ///
    /// `stamp` is the time of day, or empty.
    func text(of message: Message, _ direction: Direction, stamp: String = "") -> String {
        let body = body(of: message)
        let time = stamp.isEmpty ? "" : style.paint(stamp, .dim) + " "
        guard isForTerminal else { return time + body }
        let part: Style.Part = direction == .sent ? .sent : .received
        return time + style.paint(direction == .sent ? ">" : "<", part) + " " + body.escapedForTerminal()
    }

    private func body(of message: Message) -> String {
        switch message {
        case .text(let text): isJSONPretty ? JSONLayout.pretty(text) ?? text : text
        case .binary(let bytes) where isBinaryDumped:
            (["binary, " + bytes.count.counted("byte")] + HexDump.rows(of: bytes)).joined(separator: "\n")
        case .binary(let bytes):
            "binary, " + bytes.count.counted("byte") + (bytes.isEmpty ? "" : ": " + HexDump.preview(of: bytes))
        }
    }
}

/// The options for the display of messages and notes.
struct DisplayOptions: ParsableArguments {
    @Flag(help: "Format JSON messages over several lines.")
    var json = false

    @Flag(help: "Dump binary messages in hexadecimal.")
    var hex = false

    @Flag(name: [.short, .long], help: "Print the local time before every message and note.")
    var timestamps = false

    @Flag(name: [.short, .long], help: "Print messages and errors only.")
    var quiet = false

    /// Creates a console for these options, with a prompt if `isInteractive`.
    func console(isInteractive: Bool, environment: [String: String]) -> Console {
        let isTerminal = StandardOutput.isTerminal
        let style = Style(isTerminal: isTerminal, environment: environment)
        let errorStyle = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        return Console(
            format: MessageFormat(isJSONPretty: json, isBinaryDumped: hex, isForTerminal: isTerminal, style: style),
            isInteractive: isInteractive, isQuiet: quiet, hasTimestamps: timestamps, noteStyle: isInteractive ? style : errorStyle,
            showsStatus: isInteractive || (isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"))
    }
}

/// Formats JSON text over several lines without changing its values: keys keep their order, numbers keep their digits.
enum JSONLayout {
    /// The maximum nesting depth; deeper JSON is shown unformatted, because a peer must not control the recursion depth.
    private static let depthLimit = 256

    /// Returns the text over several lines, with two spaces per level; nil if it is not JSON.
    static func pretty(_ text: String) -> String? {
        Array(text.utf8).withUnsafeBytes { bytes in
            guard isJSON(bytes) else { return nil }
            var (reader, output, depth) = (ByteReader(bytes), [UInt8](), 0)
            func newLine() {
                output.append(UInt8(ascii: "\n"))
                output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
            }
            reader.skipSpace()
            while let byte = try? reader.byte() {
                switch byte {
                case UInt8(ascii: "\""):
                    let start = reader.position - 1
                    _ = try? reader.jsonText()
                    output += bytes[start..<reader.position]
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    output.append(byte)
                    // In ASCII, the code of a closing bracket is that of the opening one plus two.
                    if reader.skipSpace(to: byte + 2) {
                        output.append(byte + 2)
                    } else {
                        depth += 1
                        newLine()
                    }
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    newLine()
                    output.append(byte)
                case UInt8(ascii: ","):
                    output.append(byte)
                    newLine()
                case UInt8(ascii: ":"): output += ": ".utf8
                default: output.append(byte)
                }
                reader.skipSpace()
            }
            return String(decoding: output, as: UTF8.self)
        }
    }

    private static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var reader = ByteReader(bytes)
        do {
            try reader.checkJSON(levels: depthLimit, isStrict: false)
            try reader.finishJSON()
            return true
        } catch { return false }
    }
}

/// Formats bytes as a hex dump: `00000000  48 65 6c 6c  |Hell|`.
enum HexDump {
    private static let rowLength = 16

    /// Returns rows of sixteen bytes: offset, values, and the printable ASCII characters.
    static func rows(of bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: rowLength).map { offset in
            let row = bytes[offset..<min(offset + rowLength, bytes.count)]
            let halves = [row.prefix(rowLength / 2), row.dropFirst(rowLength / 2)].map { Hexadecimal.text($0, separator: " ") }
            let values = halves.filter { !$0.isEmpty }.joined(separator: "  ")
            let text = String(decoding: row.map { 0x20..<0x7F ~= $0 ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
            let width = rowLength * 3
            return "\(Hexadecimal.digits(UInt64(offset)).dropFirst(8))  " + values
                + String(repeating: " ", count: max(0, width - values.count)) + "  |\(text)|"
        }
    }

    /// Returns the first bytes on one line, for a message that is not dumped completely.
    static func preview(of bytes: [UInt8], limit: Int = 16) -> String {
        Hexadecimal.text(bytes.prefix(limit), separator: " ") + (bytes.count > limit ? " …" : "")
    }
}
