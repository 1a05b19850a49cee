import Holdfast

/// Says nothing, and sees how long the connection lives; if it is ended, sees whether pings keep another alive.
enum IdleProbe {
    static func run(_ limit: Duration, _ errand: Errand) async throws -> IdleView {
        var view = IdleView(watchedMs: limit.ms)
        let silent = try await Wire.open(errand)
        let lived = await watch(silent, for: limit, pingEvery: nil, errand, &view)
        view.serverPings = await silent.serverPings
        await silent.leave()
        guard view.ended != nil else { return view }
        let pause = max(.milliseconds(50), lived / 3)
        var second = IdleView(watchedMs: limit.ms)
        let spoken = try await Wire.open(errand)
        // Longer than the silent one lived, by enough to tell.
        _ = await watch(spoken, for: lived * 2, pingEvery: pause, errand, &second)
        await spoken.leave()
        (view.pingEveryMs, view.isKeptByPings) = (pause.ms, second.ended == nil)
        return view
    }

    /// Returns how long it lived, if it was ended.
    private static func watch(
        _ wire: Wire, for limit: Duration, pingEvery pause: Duration?, _ errand: Errand, _ view: inout IdleView
    ) async -> Duration {
        let (start, end) = (ContinuousClock.now, errand.deadline(limit))
        var alarm = pause.map { min(start + $0, end) } ?? end
        func ended(_ kind: Reaction.Kind, _ code: Int? = nil, _ detail: String? = nil) -> Duration {
            let lived = start.duration(to: .now)
            view.ended = Reaction(kind: kind, closeCode: code, detail: detail, ms: lived.ms)
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
