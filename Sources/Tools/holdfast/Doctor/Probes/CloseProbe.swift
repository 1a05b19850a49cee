import Holdfast

/// Closes, and watches what the server does about it.
enum CloseProbe {
    static func run(_ wire: Wire, _ errand: Errand) async -> CloseView {
        var view = CloseView()
        let (start, deadline) = (ContinuousClock.now, errand.deadline())
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
