package import CodecCore
import MachineCore
package import WebSocketCore

/// The body of a request or an answer of long polling: packets with a separator (Engine.IO protocol 4, "HTTP long-polling"), or with
/// their lengths (protocol 3, "Encoding").
///
/// A packet is decoded when it is taken, so that a body of many tiny packets takes no more memory than its bytes.
package struct EnginePayload: Hashable, Sendable {
    /// The separator of packets.
    private static let separator: UInt8 = 0x1E
    /// Protocol 3: ends the length of a packet in a body of bytes.
    private static let lengthEnd: UInt8 = 255
    private var bytes: [UInt8]
    private let version: SocketIOVersion
    private var position = 0

    package init(_ bytes: [UInt8] = [], _ version: SocketIOVersion = .v5) { (self.bytes, self.version) = (bytes, version) }

    /// Takes the next packet; nil after the last.
    ///
    /// - Throws: A `CodecError` for a packet that is not UTF-8 or not Base64, or whose length is wrong.
    package mutating func next() throws(CodecError) -> Message? {
        guard position < bytes.count else {
            self = EnginePayload([], version)
            return nil
        }
        return version == .v4 ? try nextCounted() : try nextSeparated()
    }

    private mutating func nextSeparated() throws(CodecError) -> Message {
        let start = position
        let end = bytes[start...].firstIndex(of: Self.separator) ?? bytes.count
        position = end + 1
        if bytes[start] == UInt8(ascii: "b") {
            guard let binary = Base64.bytes(of: bytes[(start + 1)..<end]) else { throw CodecError(.malformed, at: start) }
            return .binary(binary)
        }
        return .text(try text(start..<end))
    }

    /// Takes a packet of protocol 3 with its length.
    ///
    /// In a body of bytes, a packet begins with 0 for a text or 1 for a byte string; its length counts bytes, and its digits are bytes, too.
    /// In a body of text, a colon follows the digits, and the length counts UTF-16 units, as that of the servers of Node does.
    private mutating func nextCounted() throws(CodecError) -> Message {
        let kind = bytes[position]
        let isText = kind > 1
        let (zero, end): (UInt8, UInt8) = isText ? (UInt8(ascii: "0"), UInt8(ascii: ":")) : (0, Self.lengthEnd)
        if !isText { position += 1 }
        let first = position
        var length = 0
        while position < bytes.count, bytes[position] != end {
            let digit = bytes[position] &- zero
            guard digit <= 9, length <= bytes.count else { throw CodecError(.malformed, at: position) }
            (length, position) = (length * 10 + Int(digit), position + 1)
        }
        guard position > first else { throw CodecError(.malformed, at: position) }
        let start = position + 1
        position = isText ? stop(after: length, from: start) : start + length
        guard position <= bytes.count else { throw CodecError(.truncated, at: start) }
        return kind == 1 ? .binary(Array(bytes[start..<position])) : .text(try text(start..<position))
    }

    /// The end of a text that has so many UTF-16 units; after the last byte if it is cut off.
    private func stop(after units: Int, from start: Int) -> Int {
        var (left, place) = (units, start)
        while left > 0, place < bytes.count {
            switch bytes[place] {
            case ..<0x80: (left, place) = (left - 1, place + 1)
            case ..<0xE0: (left, place) = (left - 1, place + 2)
            case ..<0xF0: (left, place) = (left - 1, place + 3)
            default: (left, place) = (left - 2, place + 4)
            }
        }
        return left == 0 ? place : bytes.count + 1
    }

    private func text(_ range: Range<Int>) throws(CodecError) -> String {
        let text = String(decoding: bytes[range], as: UTF8.self)
        // Invalid UTF-8 would be repaired to another text.
        guard text.utf8.elementsEqual(bytes[range]) else { throw CodecError(.malformed, at: range.lowerBound) }
        return text
    }

    /// Encodes packets.
    package static func bytes(of packets: some Sequence<Message>, _ version: SocketIOVersion = .v5) -> [UInt8] {
        var bytes: [UInt8] = []
        for packet in packets {
            switch version {
            case .v4: appendCounted(packet, to: &bytes)
            case .v5: appendSeparated(packet, to: &bytes)
            }
        }
        return bytes
    }

    private static func appendSeparated(_ packet: Message, to bytes: inout [UInt8]) {
        if !bytes.isEmpty { bytes.append(separator) }
        switch packet {
        case .text(let text): bytes += text.utf8
        case .binary(let binary):
            bytes.append(UInt8(ascii: "b"))
            bytes += Base64.digits(binary)
        }
    }

    /// The body is one of bytes, because servers do not agree on what the lengths in a text count.
    private static func appendCounted(_ packet: Message, to bytes: inout [UInt8]) {
        bytes.append(packet.kind == .text ? 0 : 1)
        bytes += String(packet.byteCount).utf8.map { $0 - UInt8(ascii: "0") }
        bytes.append(lengthEnd)
        switch packet {
        case .text(let text): bytes += text.utf8
        case .binary(let binary): bytes += binary
        }
    }

    /// The number of bytes that a packet takes in a body, without a separator.
    package static func size(of packet: Message, _ version: SocketIOVersion = .v5) -> Int {
        switch (packet, version) {
        case (_, .v4): String(packet.byteCount).utf8.count + 2 + packet.byteCount
        case (.text(let text), .v5): text.utf8.count
        case (.binary(let binary), .v5): 1 + (binary.count + 2) / 3 * 4
        }
    }
}
