import HoldfastTesting
import MachineCore
import ProtocolCore
import Testing

@testable import QuotesCore

/// All inputs of a server and an app, in every order.
@Suite struct QuotesMachineExplorationTests {
    private static func quote(_ version: Int64) -> QuotesReply.FullQuote {
        .init(symbol: 0, name: "A", state: QuoteState(version: version, figures: .of(version)))
    }
    private static func part(_ sequence: Int64, round: Int64, _ version: Int64, isLast: Bool) -> QuotesMachine.Input {
        .received(.snapshot(.init(id: 1, sequence: sequence, round: round, isLast: isLast, quotes: [quote(version)])))
    }
    private static func tick(_ sequence: Int64, _ version: Int64) -> QuotesMachine.Input {
        let tick = QuotesReply.Tick(symbol: 0, version: version, fields: .last, differences: QuoteFigures(last: 1))
        return .received(.ticks(.init(sequence: sequence, ticks: [tick])))
    }
    private static let inputs: [QuotesMachine.Input] = [
        .opened(nil), .lost(unsent: []), .undecodable(""), .command(.unsubscribe(id: 1)), .received(.welcome(.init(market: 1, symbols: 1))),
        .received(.refusal(.init(id: 1, code: .badRequest, message: ""))), part(1, round: 0, 1, isLast: true),
        part(1, round: 0, 2, isLast: false), part(2, round: 1, 3, isLast: true), tick(2, 2), tick(3, 4),
    ]

    @Test func `every reachable state keeps the guarantees`() throws {
        var machine = QuotesMachine(policy: QuotesPolicy(garbageLimit: 2))
        var effects: [QuotesMachine.Effect] = []
        machine.handle(.command(.subscribe(id: 1, [SymbolPattern("A")!])), at: .start, into: &effects)
        let states = try explore(machine, inputs: Self.inputs, depth: 7, tick: .seconds(6)) { step in
            // The driver opens no second connection.
            if step.input == .opened(nil), step.before.phase != .offline { return }
            let (before, after) = (step.before, step.after)
            let isOpen = ![.offline, .ended].contains(after.phase)
            let (old, new) = (before.count > 0 ? before[0] : nil, after.count > 0 ? after[0] : nil)
            if let old, let new { try #require(new.version >= old.version, "\(step)") }
            // Quotes shown as current came on this connection, and each loss of currency is reported.
            if let new, new.isCurrent { try #require([.filling, .following].contains(after.phase), "\(step)") }
            if old != new { try #require(step.effects.contains(.event(.changed([0]))), "\(step)") }
            // Either a message of the server or a deadline continues the work, unless nothing is shown.
            let awaits = isOpen && (after.phase != .following || after.hasBeat)
            try #require((after.deadline != nil) == awaits, "\(step)")
            for effect in step.effects {
                switch effect {
                case .send: try #require(isOpen, "\(step)")
                case .end: try #require(after.phase == .ended, "\(step)")
                case .ready: try #require(before.phase == .greeting && after.phase != .greeting, "\(step)")
                case .event: break
                case .connect: Issue.record("\(step)")
                }
            }
            try #require((after.phase == .ended) == (before.phase == .ended && step.input != .lost(unsent: []) || step.gaveUp), "\(step)")
        }
        #expect(states > 1000)
    }
}

extension Step<QuotesMachine> {
    fileprivate var gaveUp: Bool { effects.contains { if case .end = $0 { true } else { false } } }
}
