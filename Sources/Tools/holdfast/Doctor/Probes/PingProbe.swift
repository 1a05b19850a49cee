import Holdfast

/// Sends pings one after the other; two in a row without an answer are enough.
enum PingProbe {
    static let count = 10

    static func run(_ wire: Wire, _ errand: Errand) async -> PingView {
        var (sent, misses, messages, roundTrips): (Int, Int, Int, [Double]) = (0, 0, 0, [])
        while sent < count, misses < 2, errand.hasTime {
            sent += 1
            let question = Array("ping \(sent)".utf8)
            let start = ContinuousClock.now
            await wire.send(.ping, question)
            if await isAnswered(wire, question, until: errand.deadline(), &messages) {
                roundTrips.append(start.duration(to: .now).ms)
                misses = 0
            } else {
                misses += 1
                if await wire.isOver { break }
            }
        }
        return PingView(sent: sent, roundTrips: roundTrips, messages: messages)
    }

    /// What the server says of its own accord is only counted.
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
