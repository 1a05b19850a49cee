import WebSocketCore

/// The server's work on the bytes of a read, without NIO: bursts of 16 masked frames.
struct Parsing {
    private static let burst = 16

    private let size: Int
    private let frames: [UInt8]

    init(_ opcode: Opcode, size: Int) {
        self.size = size
        frames = Frames.burst(Self.burst, opcode, size: size, isMasked: true)
    }

    /// As for an inline handler: unmasked and read in place.
    func inPlace(_ messages: Int) throws {
        try take(messages) { reader, bytes in
            guard let lone = reader.nextLone(&bytes) else { return nil }
            try lone.unmaskInPlace()
            return lone.payload.count
        }
    }

    /// A separate message for each.
    func intoMessages(_ messages: Int) throws {
        try take(messages) { reader, bytes in
            guard case .message(let message) = try reader.next(&bytes) else { return nil }
            return message.byteCount
        }
    }

    /// Calls `next` until it returns nothing, for each burst.
    @inline(__always)
    private func take(
        _ messages: Int, _ next: (_ reader: inout MessageReader, _ bytes: inout UnsafeRawBufferPointer) throws -> Int?
    ) throws {
        var (reader, read, byteCount) = (MessageReader(role: .server), frames, 0)
        for _ in 0..<(messages / Self.burst) {
            try read.withUnsafeMutableBytes { bytes in
                var rest = UnsafeRawBufferPointer(bytes)
                while let count = try next(&reader, &rest) { byteCount += count }
            }
        }
        try Failure.check("bytes parsed", byteCount, messages * size)
    }
}
