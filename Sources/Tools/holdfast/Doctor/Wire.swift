import Holdfast

/// A frame as it came.
struct WireFrame: Sendable {
    let opcode: Opcode
    let isFinal: Bool
    let isCompressed: Bool
    let payload: [UInt8]
}

/// What came of waiting for a frame.
enum WireEvent: Sendable {
    case frame(WireFrame)
    /// The link ended; with what was wrong, if it did not just end.
    case ended(String?)
    /// What came is no frame that a server may send.
    case nonsense(String)
    case nothing
}

/// One WebSocket seen frame by frame, and able to send what a well-behaved client would not.
actor Wire {
    /// The upgrade came to nothing; the view says why.
    struct Failure: Error, CustomStringConvertible {
        let view: UpgradeView
        var description: String { view.failure?.text ?? "there is no WebSocket" }
    }

    nonisolated let view: UpgradeView
    nonisolated let deflate: DeflateParameters?
    private let link: ByteLink
    private var buffer: [UInt8]
    private var offset = 0
    private(set) var isOver = false
    /// Pings that the server has sent.
    private(set) var serverPings = 0
    /// Frames in a row that were there although the time was over.
    private var lateFrames = 0

    init(_ link: ByteLink, view: UpgradeView, deflate: DeflateParameters?, rest: [UInt8]) {
        (self.link, self.view, self.deflate, buffer) = (link, view, deflate, rest)
    }

    deinit { link.close() }

    // MARK: Sending

    func send(_ opcode: Opcode, _ payload: [UInt8] = [], isFinal: Bool = true, isCompressed: Bool = false, isMasked: Bool = true) {
        let mask = isMasked ? MaskKey(bits: .random(in: .min ... .max)) : nil
        let header = FrameHeader(opcode, isFinal: isFinal, isCompressed: isCompressed, mask: mask, payloadLength: payload.count)
        link.send(
            [UInt8](unsafeUninitializedCapacity: header.length + payload.count) { room, count in
                let room = UnsafeMutableRawBufferPointer(room)
                header.write(to: room)
                let body = UnsafeMutableRawBufferPointer(rebasing: room[header.length...])
                payload.withUnsafeBytes { bytes in
                    if let mask { mask.copy(bytes, to: body) } else { body.copyMemory(from: bytes) }
                }
                count = header.length + payload.count
            })
    }

    func send(_ close: CloseFrame) { send(.close, close.payload) }

    /// Closes as is proper, and waits a moment for the answer.
    func leave() async {
        guard !isOver else { return }
        send(CloseFrame(.normal))
        let deadline = ContinuousClock.now + .milliseconds(300)
        while !isOver, case .frame(let frame) = await next(until: deadline), frame.opcode != .close {}
        drop()
    }

    func drop() {
        isOver = true
        link.close()
    }

    // MARK: Receiving

    /// The next frame; a ping is answered first.
    ///
    /// What has come in time is given late, too, for a busy machine may be late to look. But a server that never stops talking does not
    /// keep anybody for ever.
    func next(until deadline: ContinuousClock.Instant) async -> WireEvent {
        lateFrames = ContinuousClock.now < deadline ? 0 : lateFrames + 1
        if lateFrames > 64 {
            lateFrames = 0
            return .nothing
        }
        while true {
            do throws(ProtocolViolation) {
                if let frame = try takeFrame() {
                    if frame.opcode == .ping {
                        serverPings += 1
                        send(.pong, frame.payload)
                    }
                    return .frame(frame)
                }
            } catch {
                drop()
                return .nonsense("\(error)")
            }
            if isOver { return .ended(nil) }
            switch await link.next(within: deadline.remaining) {
            case .bytes(let bytes): buffer += bytes
            case .nothing: return .nothing
            case .end(let error):
                isOver = true
                return .ended(error?.detail)
            }
        }
    }

    private func takeFrame() throws(ProtocolViolation) -> WireFrame? {
        let found = buffer.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            return Result { () throws(ProtocolViolation) in try FrameHeader.parse(rest, allowsCompression: deflate != nil) }
        }
        guard let (header, length) = try found.get() else { return nil }
        // RFC 6455 §5.1.
        if header.mask != nil { throw ProtocolViolation(.unexpectedMask, "a server's frames have no mask") }
        // More than any message here, and than what comes unasked may be.
        guard header.payloadLength <= Self.largest else { throw ProtocolViolation(.messageTooBig, "\(header.payloadLength) bytes") }
        let start = offset + length
        guard buffer.count - start >= header.payloadLength else { return nil }
        let frame = WireFrame(
            opcode: header.opcode, isFinal: header.isFinal, isCompressed: header.isCompressed,
            payload: Array(buffer[start..<start + header.payloadLength]))
        offset = start + header.payloadLength
        if offset == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            offset = 0
        } else if offset > 65_536 {
            buffer.removeFirst(offset)
            offset = 0
        }
        return frame
    }

    /// The largest frame taken, and the largest message.
    static let largest = 1 << 26
}
