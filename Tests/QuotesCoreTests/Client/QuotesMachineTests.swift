import MachineCore
import ProtocolCore
import QuotesCore
import Testing

/// The state of a client, and its requests.
@Suite struct QuotesMachineTests {
    @Test func `on each connection the client requests all subscriptions again`() {
        var stage = QuotesStage(rate: 30)
        stage.handle(.command(.subscribe(id: 1, [SymbolPattern("SAIL")!, SymbolPattern("BANK*")!])))
        #expect(stage.takeEffects() == [], "there is no connection")
        let request = QuotesMachine.Effect.send(.subscribe(id: 1, symbols: ["SAIL", "BANK*"], rate: 30))
        for _ in 1...2 {
            stage.handle(.opened(nil))
            #expect(stage.takeEffects() == [request])
            stage.handle(.lost(unsent: []))
        }
        stage.handle(.opened(nil))
        stage.handle(.command(.subscribe(id: 2, [SymbolPattern("X")!])))
        stage.handle(.command(.unsubscribe(id: 1)))
        #expect(stage.takeEffects() == [request, .send(.subscribe(id: 2, symbols: ["X"], rate: 30)), .send(.unsubscribe(id: 1))])
    }

    @Test func `the connection is ready after a welcome, even without subscriptions`() {
        var stage = QuotesStage()
        stage.handle(.opened(nil))
        #expect(!stage.effects.contains(.ready))
        stage.handle(.received(.welcome(.init(market: 1, symbols: 1))))
        #expect(stage.effects == [.ready])
    }

    @Test func `a snapshot is shown, and ticks change it`() {
        var stage = QuotesStage(following: "SAIL", "BANK.1")
        #expect(stage.machine.phase == .following)
        stage.tick(2, 1, 5, by: -3)
        stage.tick(3, 1, 6, by: 10)
        #expect(stage.takeChanges() == [[1], [1]])
        #expect(stage.shown("SAIL") == .init(1, 100))
        #expect(stage.shown("BANK.1") == .init(6, 107))
        #expect(stage.machine.counts.ticks == 2 && stage.machine.counts.quotes == 2 && stage.machine.counts.messages == 3)
    }

    @Test func `after a gap all quotes are stale, and all snapshots are requested again`() {
        var stage = QuotesStage(following: "SAIL", "BANK.1")
        stage.tick(3, 0, 3, by: 1)
        #expect(stage.takeEffects() == [.send(.resync(round: 1))])
        #expect(stage.shown("SAIL") == .init(1, 100, false), "a difference to a lost value is not applied")
        stage.tick(4, 0, 4, by: 1)
        #expect(stage.shown("SAIL") == .init(1, 100, false))
        stage.snapshot(5, [stage.full(0, "SAIL", 4, 102)], round: 1, isLast: false)
        #expect(stage.shown("SAIL") == .init(4, 102))
        #expect(stage.shown("BANK.1") == .init(1, 100, false))
        stage.tick(6, 0, 5, by: 1)
        #expect(stage.shown("SAIL") == .init(5, 103))
        #expect(stage.machine.phase == .filling)
        stage.snapshot(7, [stage.full(1, "BANK.1", 1, 100)], round: 1)
        #expect(stage.shown("BANK.1") == .init(1, 100))
        #expect(stage.machine.phase == .following)
        #expect(stage.machine.counts.gaps == 1 && stage.machine.counts.resyncs == 1 && stage.machine.counts.garbage == 0)
    }

    @Test func `a snapshot after a gap is valid, but the end of an earlier round does not end the resync`() {
        var stage = QuotesStage(following: "SAIL", "BANK.1")
        stage.handle(.command(.subscribe(id: 2, [SymbolPattern("SAIL")!])))
        stage.snapshot(4, [stage.full(0, "SAIL", 3, 101)], id: 2)
        #expect(stage.shown("SAIL") == .init(3, 101))
        stage.snapshot(5, [stage.full(0, "SAIL", 3, 101), stage.full(1, "BANK.1", 1, 100)])
        #expect(stage.machine.phase == .filling)
        stage.snapshot(6, [], round: 1)
        stage.snapshot(7, [], id: 2, round: 1)
        #expect(stage.machine.phase == .following)
    }

    @Test func `several gaps cause one resync, and another after a while`() {
        var stage = QuotesStage(following: "SAIL")
        for sequence in [3, 5, 7] as [Int64] { stage.tick(sequence, 0, 2, by: 1) }
        #expect(stage.takeEffects() == [.send(.resync(round: 1))])
        #expect(stage.machine.deadline == stage.now + .milliseconds(200))
        stage.wait(.milliseconds(199))
        #expect(stage.takeEffects() == [])
        stage.snapshot(8, [stage.full(0, "SAIL", 9, 105)], round: 1)
        #expect(stage.machine.phase == .filling, "a snapshot requested before the last gap may be incomplete")
        stage.wait(.milliseconds(1))
        #expect(stage.takeEffects() == [.send(.resync(round: 2))])
    }

    @Test func `an older message is ignored`() {
        var stage = QuotesStage(following: "SAIL")
        stage.tick(2, 0, 2, by: 1)
        stage.tick(2, 0, 2, by: 1)
        stage.snapshot(1, [stage.full(0, "SAIL", 9, 9)])
        #expect(stage.shown("SAIL") == .init(2, 101))
        #expect(stage.machine.counts.duplicates == 2)
    }

    @Test func `a quote that is not newer is not shown, but is the base of the next differences`() {
        var stage = QuotesStage(following: "SAIL")
        stage.tick(2, 0, 9, by: 5)
        stage.handle(.lost(unsent: []))
        #expect(stage.shown("SAIL") == .init(9, 105, false))
        stage.connect(symbols: 1)
        stage.snapshot(1, [stage.full(0, "SAIL", 7, 50)])
        #expect(stage.shown("SAIL") == .init(9, 105))
        stage.tick(2, 0, 9, by: 5)
        #expect(stage.shown("SAIL") == .init(9, 105))
        #expect(stage.machine.counts.stale == 2)
        stage.tick(3, 0, 10, by: 1)
        #expect(stage.shown("SAIL") == .init(10, 56))
    }

    @Test func `a new market starts again, with any version numbers`() {
        var stage = QuotesStage(following: "SAIL", "BANK.1")
        stage.handle(.lost(unsent: []))
        stage.connect(market: 2, symbols: 2)
        #expect(stage.shown("SAIL") == nil)
        stage.snapshot(1, [stage.full(0, "BANK.1", 1, 7), stage.full(1, "SAIL", 1, 8)])
        #expect(stage.shown("SAIL") == .init(1, 8))
        #expect(stage.shown("BANK.1") == .init(1, 7))
    }

    @Test func `a cut within a snapshot leaves no quote current`() {
        var stage = QuotesStage()
        stage.handle(.command(.subscribe(id: 1, [SymbolPattern("*")!])))
        stage.connect(symbols: 2)
        stage.snapshot(1, [stage.full(0, "SAIL", 1, 100)], isLast: false)
        #expect(stage.shown("SAIL") == .init(1, 100))
        stage.handle(.lost(unsent: []))
        #expect(stage.shown("SAIL") == .init(1, 100, false))
        #expect(stage.takeChanges().last == [0])
        stage.connect(symbols: 2)
        stage.snapshot(1, [stage.full(1, "BANK.1", 1, 100)], isLast: false)
        #expect(stage.shown("SAIL") == .init(1, 100, false))
        #expect(stage.shown("BANK.1") == .init(1, 100))
        #expect(stage.machine.phase == .filling)
    }

    @Test func `an unsubscribed symbol is removed, and ticks in flight do no harm`() {
        var stage = QuotesStage(following: "SAIL", "BANK.1")
        stage.handle(.command(.subscribe(id: 2, [SymbolPattern("SAIL")!])))
        stage.snapshot(2, [stage.full(0, "SAIL", 1, 100)], id: 2)
        stage.handle(.command(.unsubscribe(id: 1)))
        #expect(stage.takeChanges().last == [1])
        stage.tick(3, 1, 2, by: 1)
        stage.snapshot(4, [stage.full(0, "SAIL", 2, 101)])
        stage.tick(5, 0, 3, by: 1)
        #expect(stage.shown("BANK.1") == nil)
        #expect(stage.shown("SAIL") == .init(3, 102))
        #expect(stage.machine.counts.garbage == 0)
    }

    @Test func `a refusal is reported and ends the wait for its snapshot, also after a gap`() {
        var stage = QuotesStage(following: "SAIL")
        stage.handle(.command(.subscribe(id: 2, [SymbolPattern("X")!])))
        #expect(stage.machine.phase == .filling)
        _ = stage.takeEffects()
        stage.handle(.received(.refusal(.init(id: 2, code: .tooManySubscriptions, message: "no"))))
        #expect(stage.takeEffects() == [.event(.refused(id: 2, .tooManySubscriptions, "no"))])
        #expect(stage.machine.phase == .following)
        stage.tick(9, 0, 9, by: 1)
        stage.snapshot(10, [stage.full(0, "SAIL", 9, 101)], round: 1)
        #expect(stage.machine.phase == .following)
    }

    // MARK: - Invalid messages

    private static let garbage: [QuotesReply] = [
        .ticks(.init(sequence: 2, ticks: [.init(symbol: 1, version: 2, fields: [], differences: QuoteFigures())])),
        .ticks(.init(sequence: 2, ticks: [.init(symbol: .max, version: 2, fields: [], differences: QuoteFigures())])),
        .ticks(.init(sequence: 2, ticks: [.init(symbol: 0, version: 0, fields: [], differences: QuoteFigures())])),
        .ticks(.init(sequence: 2, ticks: [.init(symbol: 0, version: 2, fields: .last, differences: QuoteFigures(last: -101))])),
        .ticks(.init(sequence: 2, ticks: [.init(symbol: 0, version: 2, fields: .last, differences: QuoteFigures(last: .max))])),
        .ticks(.init(sequence: 2, ticks: [.init(symbol: 0, version: 2, fields: .last, differences: QuoteFigures(last: .min))])),
        .ticks(.init(sequence: 2, conflated: -1, ticks: [])), .ticks(.init(sequence: .max, ticks: [])),
        .ticks(.init(sequence: 0, ticks: [])),
        .snapshot(.init(id: 1, sequence: 2, round: 1, isLast: true, quotes: [])),
        .snapshot(.init(id: 1, sequence: .max, round: 0, isLast: true, quotes: [])),
        .snapshot(
            .init(
                id: 1, sequence: 2, round: 0, isLast: true,
                quotes: [
                    .init(symbol: 0, name: "OTHER", state: QuoteState(version: 1, figures: .of(1)))
                ])),
        .snapshot(
            .init(
                id: 1, sequence: 2, round: 0, isLast: true,
                quotes: [
                    .init(symbol: 2, name: "A", state: QuoteState(version: 1, figures: .of(1)))
                ])),
        .snapshot(
            .init(
                id: 1, sequence: 2, round: 0, isLast: true,
                quotes: [
                    .init(symbol: 1, name: "A B", state: QuoteState(version: 1, figures: .of(1)))
                ])),
        .snapshot(
            .init(
                id: 1, sequence: 2, round: 0, isLast: true,
                quotes: [
                    .init(symbol: 1, name: "A", state: QuoteState(version: 1, figures: .of(0)))
                ])),
        .welcome(.init(market: 1, symbols: 2)),
    ]

    @Test(arguments: garbage) func `an invalid message does not change the shown quotes, and causes a resync`(reply: QuotesReply) {
        var stage = QuotesStage(following: "SAIL")
        stage.handle(.lost(unsent: []))
        stage.connect(symbols: 2)
        stage.snapshot(1, [stage.full(0, "SAIL", 1, 100)])
        _ = stage.takeEffects()
        stage.handle(.received(reply))
        #expect(stage.takeEffects() == [.send(.resync(round: 1))])
        #expect(stage.shown("SAIL") == .init(1, 100, false))
        #expect(stage.machine.counts.garbage == 1 && stage.machine.phase == .filling)
    }

    @Test func `a message before the welcome is invalid`() {
        for reply in [QuotesReply.ticks(.init(sequence: 1, ticks: [])), Self.garbage[9]] {
            var stage = QuotesStage()
            stage.handle(.opened(nil))
            stage.handle(.received(reply))
            #expect(stage.machine.counts.garbage == 1)
        }
    }

    @Test func `the third invalid message of a connection ends it, and its later messages are ignored`() {
        var stage = QuotesStage(following: "SAIL")
        for _ in 1...3 { stage.handle(.undecodable("")) }
        #expect(stage.takeEffects().last == .end(.garbage))
        stage.snapshot(2, [stage.full(0, "SAIL", 2, 1)], round: 1)
        #expect(stage.shown("SAIL") == .init(1, 100, false))
        stage.wait(.seconds(100))
        #expect(stage.takeEffects() == [] && stage.machine.deadline == nil)
        stage.handle(.lost(unsent: []))
        stage.connect(symbols: 1)
        for _ in 1...2 { stage.handle(.undecodable("")) }
        #expect(stage.machine.phase == .filling, "each connection starts a new count")
    }

    @Test func `a server of another version, or with too many symbols, is left`() {
        var stage = QuotesStage()
        stage.handle(.opened(nil))
        stage.handle(.received(.welcome(.init(version: 2, market: 1, symbols: 1))))
        #expect(stage.takeEffects() == [.end(.version(2))])
        stage.handle(.lost(unsent: []))
        stage.connect(symbols: 100_001)
        #expect(stage.takeEffects() == [.end(.tooManySymbols(100_001))])
    }

    @Test func `a connection whose snapshot does not progress is given up`() {
        var stage = QuotesStage()
        stage.handle(.command(.subscribe(id: 1, [SymbolPattern("*")!])))
        stage.handle(.opened(nil))
        stage.wait(.seconds(9))
        stage.handle(.received(.welcome(.init(market: 1, symbols: 3))))
        stage.snapshot(1, [stage.full(0, "SAIL", 1, 100)], isLast: false)
        stage.wait(.seconds(9))
        stage.snapshot(2, [stage.full(1, "BANK", 1, 100)], isLast: false)
        _ = stage.takeEffects()
        // Ticks are not part of the snapshot.
        stage.wait(.seconds(9))
        stage.tick(3, 0, 2, by: 1)
        stage.wait(.seconds(1))
        #expect(stage.takeEffects() == [.end(.silence)])
    }

    @Test func `a connection without a welcome, without messages, or with repeated gaps is given up`() {
        var stage = QuotesStage()
        stage.handle(.opened(nil))
        stage.wait(.seconds(10))
        #expect(stage.takeEffects() == [.end(.silence)])
        stage = QuotesStage(following: "SAIL")
        stage.wait(.seconds(14))
        stage.handle(.received(.ticks(.init(sequence: 2, ticks: []))))
        stage.wait(.seconds(14))
        #expect(stage.takeEffects() == [])
        stage.wait(.seconds(1))
        #expect(stage.takeEffects() == [.end(.silence)])
        stage = QuotesStage(following: "SAIL")
        for second in 1...10 {
            stage.tick(Int64(2 * second + 1), 0, 2, by: 1)
            #expect(stage.machine.phase == .filling)
            stage.wait(.seconds(1))
        }
        #expect(stage.takeEffects().last == .end(.silence))
    }

    @Test func `a server may be silent while the client has no symbols`() {
        var stage = QuotesStage()
        stage.connect(symbols: 1)
        #expect(stage.machine.phase == .following && stage.machine.deadline == nil, "nothing was asked for")
        stage.handle(.command(.subscribe(id: 1, [SymbolPattern("*")!])))
        stage.handle(.received(.refusal(.init(id: 1, code: .tooManySubscriptions, message: ""))))
        #expect(stage.machine.phase == .following && stage.machine.deadline == nil, "no symbol is shown")
        stage.handle(.command(.subscribe(id: 2, [SymbolPattern("*")!])))
        stage.snapshot(1, [stage.full(0, "SAIL", 1, 100)], id: 2)
        #expect(stage.machine.deadline == stage.now + .seconds(15))
        stage.handle(.command(.unsubscribe(id: 2)))
        // This message was in flight.
        stage.tick(2, 0, 2, by: 1)
        _ = stage.takeEffects()
        stage.wait(.seconds(1000))
        #expect(stage.takeEffects() == [] && stage.machine.phase == .following)
        // A resync would bring nothing.
        stage.handle(.undecodable(""))
        #expect(stage.takeEffects() == [.send(.resync(round: 1))] && stage.machine.phase == .following && stage.machine.deadline == nil)
    }

    @Test func `servers with ever new symbol names use no more memory than the largest market`() {
        var stage = QuotesStage()
        stage.handle(.command(.subscribe(id: 1, [SymbolPattern("*")!])))
        for connection in 0..<11 {
            stage.connect(symbols: 10_000)
            stage.snapshot(1, (0..<10_000).map { stage.full(UInt32($0), "S\(connection).\($0)", 1, 100) })
            if connection < 10 { #expect(stage.machine.phase == .following) }
            stage.handle(.lost(unsent: []))
        }
        #expect(stage.machine.count == 100_000 && stage.machine.counts.garbage == 1)
    }
}
