import Holdfast

/// Sends one message on its own connection, and observes how the server reacts.
enum MessageProbe {
    private static let sample = Array("holdfast doctor: żółw 🐢".utf8)

    static func run(_ trial: Trial, _ habits: ServerBehaviour, _ target: ProbeTarget) async throws -> CloseReaction {
        let wire = try await Wire.open(target)
        let start = ContinuousClock.now
        var isPongInTime: Bool?
        switch trial {
        case .text: await wire.send(.text, sample)
        case .binary: await wire.send(.binary, sample)
        case .empty: await wire.send(.text)
        // RFC 6455 §8.1: an overlong encoding of the slash.
        case .invalidUTF8: await wire.send(.text, [0x61, 0xC0, 0xAF])
        case .unmasked: await wire.send(.text, sample, isMasked: false)
        case .fragmented:
            await wire.send(.text, Array(sample.prefix(9)), isFinal: false)
            await wire.send(.continuation, Array(sample.dropFirst(9).prefix(9)), isFinal: false)
            await wire.send(.continuation, Array(sample.dropFirst(18)))
        case .pingWithin:
            await wire.send(.text, Array(sample.prefix(9)), isFinal: false)
            await wire.send(.ping, Array("within".utf8))
            if habits.pongs != false { isPongInTime = await isPongNext(wire, target) }
            await wire.send(.continuation, Array(sample.dropFirst(9)))
        }
        // These messages should not be answered, so no echo is waited for.
        let habits = [.invalidUTF8, .unmasked].contains(trial) ? ServerBehaviour(pongs: habits.pongs, echoes: false) : habits
        let expected = Wire.Expected(opcode: trial == .binary ? .binary : .text, bytes: trial == .empty ? [] : sample)
        var reaction = await wire.reply(to: expected, since: start, habits, target).reaction
        reaction.isPongInTime = isPongInTime
        await wire.leave()
        return reaction
    }

    /// Returns whether the pong arrives although the message is not complete.
    private static func isPongNext(_ wire: Wire, _ target: ProbeTarget) async -> Bool {
        let deadline = target.deadline(min(target.patience, .seconds(2)))
        while case .frame(let frame) = await wire.next(until: deadline) {
            if frame.opcode == .pong { return true }
            if frame.opcode == .close { break }
        }
        return false
    }
}

/// Offers permessage-deflate, and sends a compressed sample.
enum CompressionProbe {
    /// A typical message of apps: JSON with repeating keys.
    static let sample = Array(
        (0..<200).map { #"{"id":\#($0),"symbol":"HLD\#($0 % 7)","price":\#(100 + $0 * 37 % 101).\#($0 % 10)5,"isOpen":true}"# }
            .joined(separator: ",").utf8)

    static func run(_ options: CompressionOptions, _ habits: ServerBehaviour, _ target: ProbeTarget) async throws -> CompressionView {
        let wire = try await Wire.open(target, deflate: options.preferences)
        var view = CompressionView()
        guard let parameters = wire.deflate else {
            await wire.leave()
            return view
        }
        view.isAgreed = true
        view.serverNoContextTakeover = parameters.serverNoContextTakeover
        view.clientNoContextTakeover = parameters.clientNoContextTakeover
        (view.serverMaxWindowBits, view.clientMaxWindowBits) = (parameters.serverMaxWindowBits, parameters.clientMaxWindowBits)
        var compressed: [UInt8] = []
        sample.withUnsafeBytes { Deflater(parameters: parameters, role: .client).deflate($0, isLast: true, into: &compressed) }
        (view.sampleBytes, view.sentBytes) = (sample.count, compressed.count)
        let start = ContinuousClock.now
        await wire.send(.text, compressed, isCompressed: true)
        let reply = await wire.reply(to: Wire.Expected(opcode: .text, bytes: sample), since: start, habits, target) { whole in
            // An echo has the same content, whether compressed or not.
            whole.isCompressed ? inflated(whole.bytes, parameters) ?? [] : whole.bytes
        }
        view.reaction = reply.reaction
        if let message = reply.message { (view.echoBytes, view.isEchoCompressed) = (message.bytes.count, message.isCompressed) }
        await wire.leave()
        return view
    }

    private static func inflated(_ bytes: [UInt8], _ parameters: DeflateParameters) -> [UInt8]? {
        let inflater = Inflater(parameters: parameters, role: .client)
        var plain: [UInt8] = []
        do throws(ProtocolViolation) {
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(ProtocolViolation) in try inflater.inflate(bytes, into: &plain, limit: 1 << 20) }
            }
            try result.get()
            try inflater.finish(into: &plain, limit: 1 << 20)
            return plain
        } catch {
            return nil
        }
    }
}

/// Sends messages of growing size, then narrows the limit down; opens a new connection after each refusal.
enum LimitProbe {
    static func run(_ kind: MessageKind, cap: Int, _ habits: ServerBehaviour, _ target: ProbeTarget) async throws -> LimitView {
        var (search, view) = (LimitSearch(cap: cap), LimitView(cap: cap))
        (view.sentAs, view.proof) = (kind == .text ? "text" : "binary", habits.echoes == true ? "echo" : "pong")
        var wire: Wire?
        while let size = search.next, target.hasTime {
            let open: Wire
            if let wire, await !wire.isOver { open = wire } else { open = try await Wire.open(target) }
            wire = open
            let reaction = await send(size, kind, on: open, habits, target)
            // There was not enough time left to see the reaction.
            if reaction.kind == .nothing, !target.hasTime { break }
            if reaction.isSurvived, habits.echoes != true || reaction.kind == .echoed {
                search.took(size)
            } else {
                search.refused(size)
                view.refusal = reaction
                await open.drop()
            }
        }
        await wire?.leave()
        (view.largestTaken, view.smallestRefused) = (search.taken == 0 ? nil : search.taken, search.refused)
        return view
    }

    private static func send(_ size: Int, _ kind: MessageKind, on wire: Wire, _ habits: ServerBehaviour, _ target: ProbeTarget) async
        -> CloseReaction
    {
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        let opcode = kind == .text ? Opcode.text : .binary
        let start = ContinuousClock.now
        await wire.send(opcode, bytes)
        return await wire.reply(to: Wire.Expected(opcode: opcode, bytes: bytes), since: start, habits, target).reaction
    }
}

/// Searches for the size of the largest accepted message with few tries, because servers prefer round numbers.
struct LimitSearch: Hashable, Sendable {
    /// The first size to try.
    static let first = 1024

    let cap: Int
    /// The largest accepted size; 0 if there is none.
    private(set) var taken = 0
    /// The smallest refused size.
    private(set) var refused: Int?

    init(cap: Int) { self.cap = cap }

    /// The next size to try; nil if the limit is found or all sizes up to the cap were accepted.
    var next: Int? {
        guard let refused else {
            if taken == cap { return nil }
            return taken == 0 ? min(Self.first, cap) : min(taken * 4, cap)
        }
        guard refused - taken > 1 else { return nil }
        // Check whether the limit is the round number that was just accepted.
        if Self.isRound(taken) { return taken + 1 }
        let middle = taken + (refused - taken) / 2
        let rounds = Self.rounds.filter { taken < $0 && $0 < refused }
        return rounds.min { abs($0 - middle) < abs($1 - middle) } ?? middle
    }

    mutating func took(_ size: Int) { taken = max(taken, size) }
    mutating func refused(_ size: Int) { refused = min(refused ?? .max, size) }

    private static let rounds = (0..<40).map { 1 << $0 } + [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]

    private static func isRound(_ size: Int) -> Bool { rounds.contains(size) }
}

/// Sends pings one after another; stops after two in a row without an answer.
enum PingProbe {
    static let count = 10

    static func run(_ wire: Wire, _ target: ProbeTarget) async -> PingView {
        var (sent, misses, messages, roundTrips): (Int, Int, Int, [Double]) = (0, 0, 0, [])
        while sent < count, misses < 2, target.hasTime {
            sent += 1
            let question = Array("ping \(sent)".utf8)
            let start = ContinuousClock.now
            await wire.send(.ping, question)
            if await isAnswered(wire, question, until: target.deadline(), &messages) {
                roundTrips.append(start.duration(to: .now).ms)
                misses = 0
            } else {
                misses += 1
                if await wire.isOver { break }
            }
        }
        return PingView(sent: sent, roundTrips: roundTrips, messages: messages)
    }

    /// Waits for the pong; messages that the server sends in the meantime are only counted.
    private static func isAnswered(
        _ wire: Wire, _ question: [UInt8], until deadline: ContinuousClock.Instant, _ messages: inout Int
    ) async -> Bool {
        while case .frame(let frame) = await wire.next(until: deadline) {
            if frame.opcode == .pong, frame.payload == question { return true }
            if frame.opcode == .close { break }
            if !frame.opcode.isControl, frame.isFinal { messages += 1 }
        }
        return false
    }
}

/// Sends nothing, and measures how long the connection lives; if it ends, tests whether pings keep another connection alive.
enum IdleProbe {
    static func run(_ limit: Duration, _ target: ProbeTarget) async throws -> IdleView {
        var view = IdleView(watchedMs: limit.ms)
        let silent = try await Wire.open(target)
        let lived = await watch(silent, for: limit, pingEvery: nil, target, &view)
        view.serverPings = await silent.serverPings
        await silent.leave()
        guard view.ended != nil else { return view }
        let pause = max(.milliseconds(50), lived / 3)
        var second = IdleView(watchedMs: limit.ms)
        let spoken = try await Wire.open(target)
        // Twice as long as the silent connection lived, so that the difference is clear.
        _ = await watch(spoken, for: lived * 2, pingEvery: pause, target, &second)
        await spoken.leave()
        (view.pingEveryMs, view.isKeptByPings) = (pause.ms, second.ended == nil)
        return view
    }

    /// Returns how long the connection lived, if it was ended.
    private static func watch(
        _ wire: Wire, for limit: Duration, pingEvery pause: Duration?, _ target: ProbeTarget, _ view: inout IdleView
    ) async -> Duration {
        let (start, end) = (ContinuousClock.now, target.deadline(limit))
        var alarm = pause.map { min(start + $0, end) } ?? end
        func ended(_ kind: CloseReaction.Kind, _ code: Int? = nil, _ detail: String? = nil) -> Duration {
            let lived = start.duration(to: .now)
            view.ended = CloseReaction(kind: kind, closeCode: code, detail: detail, ms: lived.ms)
            return lived
        }
        while true {
            switch await wire.next(until: alarm) {
            case .nothing where alarm >= end: return limit
            case .nothing:
                await wire.send(.ping, Array("still here".utf8))
                alarm = min(alarm + (pause ?? limit), end)
            case .ended(let why): return ended(.hungUp, nil, why)
            case .nonsense(let why): return ended(.garbled, nil, why)
            case .frame(let frame) where frame.opcode == .close:
                let close = frame.payload.withUnsafeBytes { bytes in try? CloseFrame(payload: bytes) }
                return ended(.closed, Int((close?.code ?? .noStatus).rawValue), close.flatMap { $0.reason.isEmpty ? nil : $0.reason })
            case .frame(let frame): if !frame.opcode.isControl { view.serverMessages += 1 }
            }
        }
    }
}

/// Sends a close frame, and observes how the server reacts.
enum CloseProbe {
    static func run(_ wire: Wire, _ target: ProbeTarget) async -> CloseView {
        var view = CloseView()
        let (start, deadline) = (ContinuousClock.now, target.deadline())
        await wire.send(CloseFrame(.normal))
        while true {
            switch await wire.next(until: deadline) {
            case .frame(let frame) where frame.opcode == .close && !view.isAnswered:
                view.isAnswered = true
                view.answerMs = start.duration(to: .now).ms
                let close = frame.payload.withUnsafeBytes { bytes in try? CloseFrame(payload: bytes) }
                view.code = Int((close?.code ?? .noStatus).rawValue)
            case .frame: break
            case .ended:
                (view.endsTCP, view.endMs) = (true, start.duration(to: .now).ms)
                return view
            case .nonsense, .nothing:
                await wire.drop()
                return view
            }
        }
    }
}
