package import CodecCore
import MachineCore
package import WebSocketCore

/// The body of a request or an answer of long polling: packets with a separator (Engine.IO protocol 4, "HTTP long-polling").
///
/// A packet is decoded when it is taken, so that a body of many tiny packets takes no more memory than its bytes.
package struct EnginePayload: Hashable, Sendable {
    /// The separator of packets.
    private static let separator: UInt8 = 0x1E
    private var bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Takes the next packet; nil after the last.
    ///
    /// - Throws: A `CodecError` for a packet that is not UTF-8 or not Base64.
    package mutating func next() throws(CodecError) -> Message? {
        guard position < bytes.count else {
            self = EnginePayload()
            return nil
        }
        let start = position
        let end = bytes[start...].firstIndex(of: Self.separator) ?? bytes.count
        position = end + 1
        if bytes[start] == UInt8(ascii: "b") {
            guard let binary = Base64.bytes(of: bytes[(start + 1)..<end]) else { throw CodecError(.malformed, at: start) }
            return .binary(binary)
        }
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        // Invalid UTF-8 would be repaired to another text.
        guard text.utf8.elementsEqual(bytes[start..<end]) else { throw CodecError(.malformed, at: start) }
        return .text(text)
    }

    /// Encodes packets.
    package static func bytes(of packets: some Sequence<Message>) -> [UInt8] {
        var bytes: [UInt8] = []
        for packet in packets {
            if !bytes.isEmpty { bytes.append(separator) }
            switch packet {
            case .text(let text): bytes += text.utf8
            case .binary(let binary):
                bytes.append(UInt8(ascii: "b"))
                bytes += Base64.digits(binary)
            }
        }
        return bytes
    }

    /// The number of bytes that a packet takes in a body.
    package static func size(of packet: Message) -> Int {
        switch packet {
        case .text(let text): text.utf8.count
        case .binary(let binary): 1 + (binary.count + 2) / 3 * 4
        }
    }
}
