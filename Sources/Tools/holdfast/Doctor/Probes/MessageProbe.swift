import Holdfast

/// Sends one thing on a connection of its own, and watches what the server does about it.
enum MessageProbe {
    private static let sample = Array("holdfast doctor: żółw 🐢".utf8)

    static func run(_ trial: Trial, _ habits: Habits, _ errand: Errand) async throws -> Reaction {
        let wire = try await Wire.open(errand)
        let start = ContinuousClock.now
        var isPongInTime: Bool?
        switch trial {
        case .text: await wire.send(.text, sample)
        case .binary: await wire.send(.binary, sample)
        case .empty: await wire.send(.text)
        // RFC 6455 §8.1: an overlong form of the slash.
        case .invalidUTF8: await wire.send(.text, [0x61, 0xC0, 0xAF])
        case .unmasked: await wire.send(.text, sample, isMasked: false)
        case .fragmented:
            await wire.send(.text, Array(sample.prefix(9)), isFinal: false)
            await wire.send(.continuation, Array(sample.dropFirst(9).prefix(9)), isFinal: false)
            await wire.send(.continuation, Array(sample.dropFirst(18)))
        case .pingWithin:
            await wire.send(.text, Array(sample.prefix(9)), isFinal: false)
            await wire.send(.ping, Array("within".utf8))
            if habits.pongs != false { isPongInTime = await isPongNext(wire, errand) }
            await wire.send(.continuation, Array(sample.dropFirst(9)))
        }
        // What should not be answered is not waited for.
        let habits = [.invalidUTF8, .unmasked].contains(trial) ? Habits(pongs: habits.pongs, echoes: false) : habits
        let expected = Wire.Expected(opcode: trial == .binary ? .binary : .text, bytes: trial == .empty ? [] : sample)
        var reaction = await wire.reply(to: expected, since: start, habits, errand).reaction
        reaction.isPongInTime = isPongInTime
        await wire.leave()
        return reaction
    }

    /// Whether the ping's pong comes though the message is not complete.
    private static func isPongNext(_ wire: Wire, _ errand: Errand) async -> Bool {
        let deadline = errand.deadline(min(errand.patience, .seconds(2)))
        while case .frame(let frame) = await wire.next(until: deadline) {
            if frame.opcode == .pong { return true }
            if frame.opcode == .close { break }
        }
        return false
    }
}
