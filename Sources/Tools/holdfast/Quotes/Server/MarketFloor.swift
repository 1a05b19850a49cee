import Foundation
import MachineCore
import WebSocketRuntime
import QuotesCore

/// The market of a server, beating in real time, and everybody who watches it.
final class MarketFloor: Sendable {
    private struct State {
        var market: Market
        var visitors: [Int: QuotesVisitor] = [:]
        var nextVisitor = 0
    }
    /// A machine that slept does not make up for more beats than these.
    private static let mostBeatsAtOnce = 100

    private let state: LockedValue<State>
    private let start = ContinuousClock.now
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - plan: What the market is like.
    ///   - clock: What time its quotes have, in milliseconds since 1970.
    init(_ plan: MarketPlan, clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }) {
        (state, self.clock) = (LockedValue(State(market: Market(plan))), clock)
    }

    /// All symbols with their quotes, as they are now.
    var table: QuoteTable { state.withLockedValue { $0.market.table } }

    /// The time that feeds count from when the market began.
    var now: Moment { Moment(start.duration(to: .now)) }

    /// Lets the market go on until the task is cancelled.
    func run() async {
        var next = ContinuousClock.now + Market.beat
        while (try? await Task.sleep(until: next, clock: .continuous)) != nil {
            var due = 0
            while next <= .now { (next, due) = (next + Market.beat, due + 1) }
            for _ in 0..<min(due, Self.mostBeatsAtOnce) { beat() }
        }
    }

    /// Lets the market go on by one beat, and tells everybody.
    func beat() {
        let (changed, visitors) = state.withLockedValue { state in
            var changed: [Int] = []
            state.market.beat(at: clock(), into: &changed)
            return (changed, Array(state.visitors.values))
        }
        for visitor in visitors { visitor.note(changed) }
    }

    /// A new client, who hears of all changes from now on.
    func welcome() -> (number: Int, visitor: QuotesVisitor) {
        state.withLockedValue { state in
            let visitor = QuotesVisitor(Feed(of: state.market.table))
            defer { state.nextVisitor += 1 }
            state.visitors[state.nextVisitor] = visitor
            return (state.nextVisitor, visitor)
        }
    }

    /// The client is gone.
    func leave(_ number: Int) { state.withLockedValue { $0.visitors[number] = nil } }
}
