import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import MachineCore

/// How messages look: one shape for a terminal, one for a pipe.
///
/// On a terminal a mark tells the direction and nothing a peer sends can drive the terminal. Into a pipe text goes
/// unmarked and unchanged, so that `| jq` and `| head` see what the peer sent.
struct MessageFormat: Hashable, Sendable {
    enum Direction: Hashable, Sendable { case sent, received }

    /// Lay JSON out over lines.
    var isJSONPretty = false
    /// Dump binary messages whole.
    var isBinaryDumped = false
    /// The reader is a person at a terminal.
    var isForTerminal: Bool
    var style: Style = .plain

    /// The lines that show a message, without a last line end.
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

/// What decides how messages and notes look.
struct DisplayOptions: ParsableArguments {
    @Flag(help: "Lay messages that are JSON out over several lines.")
    var json = false

    @Flag(help: "Dump binary messages in hexadecimal.")
    var hex = false

    @Flag(name: [.short, .long], help: "Print the local time before every message and note.")
    var timestamps = false

    @Flag(name: [.short, .long], help: "Print messages and errors only.")
    var quiet = false

    /// A console for these options, with a prompt if `isInteractive`.
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

/// Lays JSON text out over lines without touching its values: keys keep their order, numbers keep their digits.
enum JSONLayout {
    /// Deeper nesting than this is shown as it came: a peer must not choose how deep the recursion of the check goes.
    private static let depthLimit = 256

    /// The text over several lines, two spaces to a level, or nil when it is not JSON.
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
                    // In ASCII, a bracket that closes is the second behind the one that opens.
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

/// Bytes as people read them: `00000000  48 65 6c 6c  |Hell|`.
enum HexDump {
    private static let rowLength = 16

    /// Sixteen bytes to a row: offset, values, and the printable ASCII among them.
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

    /// The first bytes on one line, for a message that is not dumped whole.
    static func preview(of bytes: [UInt8], limit: Int = 16) -> String {
        Hexadecimal.text(bytes.prefix(limit), separator: " ") + (bytes.count > limit ? " …" : "")
    }
}

extension Encodable {
    /// This as JSON over several lines, its keys in the order of the alphabet.
    func inPrettyJSON() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
