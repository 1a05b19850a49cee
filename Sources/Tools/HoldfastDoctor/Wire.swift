import Foundation
import Holdfast
import HoldfastTerminal

/// A received frame.
struct WireFrame: Sendable {
    let opcode: Opcode
    let isFinal: Bool
    let isCompressed: Bool
    let payload: [UInt8]
}

/// The result of waiting for a frame.
enum WireEvent: Sendable {
    case frame(WireFrame)
    /// The link ended; with an error message if it failed.
    case ended(String?)
    /// The received bytes are not a valid frame of a server.
    case nonsense(String)
    case nothing
}

/// One WebSocket at the level of frames, which can also send what a well-behaved client would not.
actor Wire {
    /// The upgrade failed; the view contains the reason.
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
    /// The number of pings that the server has sent.
    private(set) var serverPings = 0
    /// Consecutive frames that were already there after the deadline.
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

    /// Closes cleanly, and waits briefly for the answer.
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

    /// Returns the next frame; answers a ping first.
    ///
    /// Frames that arrived in time are returned even after the deadline, because a busy machine may look late. The number of such frames
    /// is limited, so that a server that never stops sending cannot block the caller forever.
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
        // Larger than any message here, and than any unrequested message may be.
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

    /// The maximum size of an accepted frame, and of a message.
    static let largest = 1 << 26

    /// Connects and requests a WebSocket.
    ///
    /// - Parameter change: Changes the options of the connection.
    static func open(
        _ target: ProbeTarget, deflate: DeflatePreferences? = nil, change: (inout ClientOptions) -> Void = { _ in }
    ) async throws(Failure) -> Wire {
        var options = target.options
        change(&options)
        var view = UpgradeView()
        view.offer(options.subprotocols)
        do throws(TransportError) {
            let handshake = try request(options, deflate)
            let link = try await NIOConnector.bytes(options)
            (view.remote, view.connectMs, view.tlsMs) = (link.remote, link.connected.ms, link.secured?.ms)
            do throws(TransportError) {
                return try await upgrade(link, handshake, target, &view)
            } catch {
                link.close()
                throw error
            }
        } catch {
            view.failure = UpgradeView.Failure(
                code: error.code.description, text: error.detail, body: String(decoding: error.body, as: UTF8.self))
            if let response = error.response { view.take(response) }
            throw Failure(view: view)
        }
    }

    private static func request(
        _ options: ClientOptions, _ deflate: DeflatePreferences?
    ) throws(TransportError) -> (handshake: ClientHandshake, bytes: [UInt8]) {
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            let handshake = try ClientHandshake(
                url: options.url, subprotocols: options.subprotocols, deflate: deflate, headers: options.headers, using: &random)
            return (handshake, try handshake.request.encoded())
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
    }

    private static func upgrade(
        _ link: ByteLink, _ request: (handshake: ClientHandshake, bytes: [UInt8]), _ target: ProbeTarget, _ view: inout UpgradeView
    ) async throws(TransportError) -> Wire {
        let (start, deadline) = (ContinuousClock.now, target.deadline())
        link.send(request.bytes)
        var parser = HeadParser<ResponseHead>(limit: target.options.headLimit)
        var bytes: [UInt8] = []
        while true {
            let parsed = bytes.withUnsafeBytes { bytes in
                var rest = bytes
                let head = Result { () throws(HandshakeFailure) in try parser.parse(&rest) }
                return (head: head, rest: Array(rest))
            }
            bytes = parsed.rest
            let head: ResponseHead?
            do throws(HandshakeFailure) { head = try parsed.head.get() } catch {
                throw TransportError(.invalidHandshake, "the answer of the server is not HTTP: \(error)", underlying: error)
            }
            if let head, !head.isInterim {
                view.answerMs = start.duration(to: .now).ms
                view.take(head)
                return try await judge(head, bytes, link, request.handshake, deadline, &view)
            }
            if head != nil { continue }
            bytes = try await more(link, deadline)
        }
    }

    private static func more(_ link: ByteLink, _ deadline: ContinuousClock.Instant) async throws(TransportError) -> [UInt8] {
        switch await link.next(within: deadline.remaining) {
        case .bytes(let bytes): return bytes
        case .nothing: throw TransportError(.timedOut, "the server did not answer the upgrade in time")
        case .end(let error): throw error ?? TransportError(.lost, "the server closed the connection without an answer to the upgrade")
        }
    }

    private static func judge(
        _ head: ResponseHead, _ rest: [UInt8], _ link: ByteLink, _ handshake: ClientHandshake, _ deadline: ContinuousClock.Instant,
        _ view: inout UpgradeView
    ) async throws(TransportError) -> Wire {
        do throws(HandshakeFailure) {
            let agreement = try handshake.check(head)
            view.take(agreement)
            return Wire(link, view: view, deflate: agreement.deflate, rest: rest)
        } catch  where error.kind == .refused {
            var failure = TransportError(.refused, "the server answered \(head)", underlying: error)
            failure.response = head
            failure.body = await body(of: head, rest, link, deadline)
            throw failure
        } catch {
            throw TransportError(.invalidHandshake, "the server answered 101, but the answer is invalid: \(error)", underlying: error)
        }
    }

    /// Returns the first bytes of a refusal's body, as far as they arrive soon.
    private static func body(
        of head: ResponseHead, _ rest: [UInt8], _ link: ByteLink, _ deadline: ContinuousClock.Instant
    ) async -> [UInt8] {
        var body = RefusalBody(of: head, limit: 300)
        var bytes = rest
        let deadline = min(deadline, .now + .seconds(1))
        while !bytes.withUnsafeBytes({ body.append($0) }), case .bytes(let more) = await link.next(within: deadline.remaining) {
            bytes = more
        }
        return body.bytes
    }

    /// The expected echo.
    struct Expected: Sendable {
        let opcode: Opcode
        let bytes: [UInt8]
    }

    /// The server's reaction, and the last message that arrived in the meantime.
    struct Reply: Sendable {
        let reaction: CloseReaction
        var message: Joined.CompleteMessage?
    }

    /// Waits for the reaction to a message that was sent at `start`; sends a ping after it, to see when the server has read it.
    func reply(
        to expected: Expected, since start: ContinuousClock.Instant, _ habits: ServerBehaviour, _ target: ProbeTarget,
        reading: (Joined.CompleteMessage) -> [UInt8] = { $0.bytes }
    ) async -> Reply {
        let question = Array("behind \(UInt32.random(in: .min ... .max))".utf8)
        let isAsked = habits.pongs != false
        if isAsked { send(.ping, question) }
        // If no answer is expected, a short silence is enough.
        var deadline = target.deadline(!isAsked && habits.echoes == false ? min(target.patience, .seconds(1)) : nil)
        var (isAlive, parts, other) = (false, Joined(), Reply?.none)
        func reply(_ kind: CloseReaction.Kind, _ code: Int? = nil, _ detail: String? = nil, _ message: Joined.CompleteMessage? = nil)
            -> Reply
        {
            let reaction = CloseReaction(kind: kind, closeCode: code, detail: detail, ms: start.duration(to: .now).ms)
            return Reply(reaction: reaction, message: message)
        }
        while true {
            switch await next(until: deadline) {
            case .nothing: return other ?? reply(isAlive ? .silent : .nothing)
            case .ended(let why): return reply(.hungUp, nil, why)
            case .nonsense(let why): return reply(.garbled, nil, why)
            case .frame(let frame) where frame.opcode == .close:
                let close = frame.payload.withUnsafeBytes { bytes in try? CloseFrame(payload: bytes) }
                send(CloseFrame(close?.code ?? .normal))
                drop()
                guard let close else { return reply(.garbled, nil, "its close frame is invalid") }
                return reply(.closed, Int((close.code ?? .noStatus).rawValue), close.reason.isEmpty ? nil : close.reason)
            case .frame(let frame) where frame.opcode == .pong:
                guard frame.payload == question else { break }
                isAlive = true
                deadline = min(deadline, .now + habits.quiet)
            case .frame(let frame):
                guard let whole = parts.take(frame) else { break }
                if whole.opcode == expected.opcode, expected.bytes.isSame(as: reading(whole)) { return reply(.echoed, nil, nil, whole) }
                other = reply(.answered, nil, whole.words, whole)
            }
        }
    }
}

/// The known habits of a server, so that no probe waits for answers that never come.
struct ServerBehaviour: Hashable, Sendable {
    /// Whether the server answers pings; nil: unknown.
    var pongs: Bool?
    /// Whether the server echoes messages; nil: unknown.
    var echoes: Bool?

    /// How long to wait for an answer after the pong, because a server may pass the message on before it answers.
    var quiet: Duration {
        switch echoes {
        case nil: .seconds(1)
        case true?: .seconds(3)
        case false?: .milliseconds(300)
        }
    }
}

/// Assembles the fragments of messages.
struct Joined {
    struct CompleteMessage: Sendable {
        let opcode: Opcode
        let isCompressed: Bool
        let bytes: [UInt8]

        var words: String {
            guard opcode == .text else { return "\(bytes.count.counted("byte")) of binary" }
            let text = String(decoding: bytes.prefix(80), as: UTF8.self)
            return "the text \"\(text)\"" + (bytes.count > 80 ? "…" : "")
        }
    }

    private var first: WireFrame?
    private var bytes: [UInt8] = []

    /// Returns the message that the frame completes; ignores control frames.
    mutating func take(_ frame: WireFrame) -> CompleteMessage? {
        guard !frame.opcode.isControl else { return nil }
        if frame.opcode != .continuation { (first, bytes) = (frame, []) }
        if bytes.count < Wire.largest { bytes += frame.payload }
        guard frame.isFinal, let first else { return nil }
        self.first = nil
        return CompleteMessage(opcode: first.opcode, isCompressed: first.isCompressed, bytes: bytes)
    }
}

/// The end of a step of a protocol that the server did not carry out.
struct StepRefusal: Encodable, Hashable, Sendable, Error, CustomStringConvertible {
    /// The code of the close frame; nil if the server sent an error message, or lost the connection.
    var closeCode: Int?
    var text: String

    var description: String {
        guard let closeCode else { return text }
        return "closed with \(closeCode)" + (text.isEmpty ? "" : ": \(text)")
    }
}

/// The messages of a protocol on one connection.
struct WireMessages {
    let wire: Wire
    private var parts = Joined()

    init(wire: Wire) { self.wire = wire }

    /// Returns the next message that `decode` does not leave out.
    mutating func next<Reply>(
        until deadline: ContinuousClock.Instant, _ decode: (Message) throws -> Reply?
    ) async -> Result<Reply, StepRefusal> {
        while true {
            switch await wire.next(until: deadline) {
            case .nothing: return .failure(StepRefusal(text: "no answer in time"))
            case .ended(let why): return .failure(StepRefusal(text: why ?? "the server ended the connection"))
            case .nonsense(let why): return .failure(StepRefusal(text: why))
            case .frame(let frame) where frame.opcode == .close:
                let close = frame.payload.withUnsafeBytes { bytes in try? CloseFrame(payload: bytes) }
                return .failure(StepRefusal(closeCode: Int((close?.code ?? .noStatus).rawValue), text: close?.reason ?? ""))
            case .frame(let frame):
                guard let whole = parts.take(frame) else { break }
                let message = whole.opcode == .text ? Message.text(String(decoding: whole.bytes, as: UTF8.self)) : .binary(whole.bytes)
                do {
                    if let reply = try decode(message) { return .success(reply) }
                } catch { return .failure(StepRefusal(text: "an invalid message: \(error)")) }
            }
        }
    }
}

extension [UInt8] {
    /// Compares with `memcmp`, because there may be megabytes.
    fileprivate func isSame(as other: [UInt8]) -> Bool { count == other.count && memcmp(self, other, count) == 0 }
}
