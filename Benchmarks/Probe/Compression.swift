import CZlib
import MachineCore
import WebSocketCore
import WebSocketRuntime

/// JSON messages from a server to a client, compressed and inflated with context takeover.
///
/// Once with the code of a connection, and once with zlib alone. The difference is our own cost.
struct Compression {
    /// Different messages, more than a window holds, so that no message refers to its previous copy.
    private let conversation: [[UInt8]]
    private let size: Int

    init(size: Int) {
        var generator = SplitMix64(seed: 1)
        self.size = size
        conversation = (0..<64).map { _ in Self.json(size, &generator) }
    }

    func throughHoldfast(_ messages: Int) throws {
        let deflater = Deflater(parameters: DeflateParameters(), role: .server)
        var reader = MessageReader(role: .client, inflater: Inflater(parameters: DeflateParameters(), role: .client))
        var byteCount = 0
        for index in 0..<messages {
            var payload: [UInt8] = []
            conversation[index % conversation.count].withUnsafeBytes { deflater.deflate($0, isLast: true, into: &payload) }
            let frame = Self.frame(payload)
            try frame.withUnsafeBytes { bytes in
                var rest = bytes
                if case .message(let message) = try reader.next(&rest) { byteCount += message.byteCount }
            }
        }
        try Failure.check("bytes inflated", byteCount, messages * size)
    }

    func throughZlib(_ messages: Int) throws {
        let zlib = BareZlib(room: size)
        var byteCount = 0
        for index in 0..<messages { byteCount += zlib.roundTrip(conversation[index % conversation.count]) }
        try Failure.check("bytes inflated", byteCount, messages * size)
    }

    private static func frame(_ payload: [UInt8]) -> [UInt8] {
        let header = FrameHeader(.text, isCompressed: true, payloadLength: payload.count)
        return [UInt8](unsafeUninitializedCapacity: header.length + payload.count) { room, count in
            let room = UnsafeMutableRawBufferPointer(room)
            header.write(to: room)
            UnsafeMutableRawBufferPointer(rebasing: room[header.length...]).copyBytes(from: payload)
            count = header.length + payload.count
        }
    }

    /// A list of orders, cut off at `size` bytes.
    private static func json(_ size: Int, _ generator: inout SplitMix64) -> [UInt8] {
        let goods = ["anchor", "cable", "compass", "lantern", "rope", "sail", "sextant", "winch"]
        var text = "["
        while text.utf8.count < size {
            let (good, price) = (goods.randomElement(using: &generator) ?? "", Int.random(in: 100..<100_000, using: &generator))
            text += #"{"id":\#(Int.random(in: 0..<1_000_000_000, using: &generator)),"good":"\#(good)","price":\#(price)},"#
        }
        return Array(text.utf8.prefix(size))
    }
}

/// zlib as a C program uses it, with the level, window and memory of ``CompressionOptions``.
private final class BareZlib {
    private let deflation = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let inflation = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let compressed: UnsafeMutableBufferPointer<UInt8>
    private let inflated: UnsafeMutableBufferPointer<UInt8>

    /// - Parameter room: The maximum size of a message.
    init(room: Int) {
        deflation.initialize(to: z_stream())
        inflation.initialize(to: z_stream())
        compressed = .allocate(capacity: room + 64)
        // zlib is slower if the free space is shorter than the longest match.
        inflated = .allocate(capacity: room + 512)
        precondition(CZlib_deflateInit2(deflation, 6, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK && CZlib_inflateInit2(inflation, -15) == Z_OK)
    }

    deinit {
        deflateEnd(deflation)
        inflateEnd(inflation)
        deflation.deallocate()
        inflation.deallocate()
        compressed.deallocate()
        inflated.deallocate()
    }

    /// Compresses and inflates, and leaves the tail `00 00 FF FF` in place.
    ///
    /// Returns the number of output bytes.
    func roundTrip(_ message: [UInt8]) -> Int {
        message.withUnsafeBufferPointer { message in
            deflation.pointee.next_in = UnsafeMutablePointer(mutating: message.baseAddress)
            deflation.pointee.avail_in = UInt32(message.count)
            deflation.pointee.next_out = compressed.baseAddress
            deflation.pointee.avail_out = UInt32(compressed.count)
            deflate(deflation, Z_SYNC_FLUSH)
        }
        inflation.pointee.next_in = compressed.baseAddress
        inflation.pointee.avail_in = UInt32(compressed.count) - deflation.pointee.avail_out
        inflation.pointee.next_out = inflated.baseAddress
        inflation.pointee.avail_out = UInt32(inflated.count)
        inflate(inflation, Z_SYNC_FLUSH)
        return inflated.count - Int(inflation.pointee.avail_out)
    }
}
