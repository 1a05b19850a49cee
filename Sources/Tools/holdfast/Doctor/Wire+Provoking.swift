import Foundation
import Holdfast

/// What is known of a server, so that nobody waits for what never comes.
struct Habits: Hashable, Sendable {
    /// Whether it answers pings; nil: not known yet.
    var pongs: Bool?
    /// Whether it sends back what it gets; nil: not known yet.
    var echoes: Bool?

    /// How long something may come after the pong of a ping that was sent behind a message: a server may hand the message to others first.
    var quiet: Duration {
        switch echoes {
        case nil: .seconds(1)
        case true?: .seconds(3)
        case false?: .milliseconds(300)
        }
    }
}

extension Wire {
    /// What may come back.
    struct Expected: Sendable {
        let opcode: Opcode
        let bytes: [UInt8]
    }

    /// What a server did, and the last message that came meanwhile.
    struct Reply: Sendable {
        let reaction: Reaction
        var message: Joined.Whole?
    }

    /// Waits for what the server does about what was sent at `start`; a ping is sent behind it, to see when it has been read.
    func reply(
        to expected: Expected, since start: ContinuousClock.Instant, _ habits: Habits, _ errand: Errand,
        reading: (Joined.Whole) -> [UInt8] = { $0.bytes }
    ) async -> Reply {
        let question = Array("behind \(UInt32.random(in: .min ... .max))".utf8)
        let isAsked = habits.pongs != false
        if isAsked { send(.ping, question) }
        // Without an answer to hope for, silence is soon long enough.
        var deadline = errand.deadline(!isAsked && habits.echoes == false ? min(errand.patience, .seconds(1)) : nil)
        var (isAlive, parts, other) = (false, Joined(), Reply?.none)
        func reply(_ kind: Reaction.Kind, _ code: Int? = nil, _ detail: String? = nil, _ message: Joined.Whole? = nil) -> Reply {
            let reaction = Reaction(kind: kind, closeCode: code, detail: detail, ms: start.duration(to: .now).ms)
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
                guard let close else { return reply(.garbled, nil, "its close frame cannot be read") }
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

/// Puts the fragments of messages together.
struct Joined {
    struct Whole: Sendable {
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

    /// The message that the frame completes; control frames pass.
    mutating func take(_ frame: WireFrame) -> Whole? {
        guard !frame.opcode.isControl else { return nil }
        if frame.opcode != .continuation { (first, bytes) = (frame, []) }
        if bytes.count < Wire.largest { bytes += frame.payload }
        guard frame.isFinal, let first else { return nil }
        self.first = nil
        return Whole(opcode: first.opcode, isCompressed: first.isCompressed, bytes: bytes)
    }
}

extension [UInt8] {
    /// At the speed of `memcmp`, for there may be megabytes.
    fileprivate func isSame(as other: [UInt8]) -> Bool { count == other.count && memcmp(self, other, count) == 0 }
}
