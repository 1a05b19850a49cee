import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Turns small messages into frames as they are accepted, whichever thread that is on.
///
/// Large ones wait as they are, and so do those to be compressed, for the connection's event loop does that in their order.
///
/// SAFETY: touched only under the lock of the queue that it belongs to.
final class FrameEncoder: OutboundEncoder, @unchecked Sendable {
    /// Messages of more bytes are written in parts, straight from where they are.
    static let largest = 16 * 1024

    private let limit: Int
    private let keys: MaskKeySource?
    private let local: LoopLocal
    @exclusivity(unchecked) private var frames = FrameBuffer()
    /// How many messages there are in the frames, and of how many bytes.
    @exclusivity(unchecked) private(set) var messages = 0
    @exclusivity(unchecked) private(set) var payload = 0

    /// - Parameter threshold: Messages of at least this many bytes are to be compressed; nil: none.
    init(role: Role, threshold: Int?, local: LoopLocal) {
        limit = min(Self.largest, (threshold ?? .max) - 1)
        keys = MaskKeySource(for: role)
        self.local = local
    }

    var byteCount: Int { frames.count }

    func encode(_ message: Message) -> Bool {
        let (opcode, limit) = (message.opcode, limit)
        return message.withBytes { payload in
            guard payload.count <= limit else { return false }
            if !frames.hasMemory { frames = local.takeOutput() }
            frames.writeFrame(FrameHeader(opcode, mask: keys?.next(), payloadLength: payload.count), payload)
            messages &+= 1
            self.payload &+= payload.count
            return true
        }
    }

    func discard() { _ = take() }

    /// Removes what was encoded.
    func take() -> FrameBuffer {
        defer { (frames, messages, payload) = (FrameBuffer(), 0, 0) }
        return frames
    }
}

extension MaskKeySource {
    /// RFC 6455 §5.1: a client masks, a server does not.
    convenience init?(for role: Role) {
        guard role == .client else { return nil }
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }
}
