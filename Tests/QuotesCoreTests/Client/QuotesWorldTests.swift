import MachineCore
import ProtocolCore
import QuotesCore
import Testing

/// A market, the feed of one client, a link that is slow, loses messages and is cut, and the client's table, without sockets.
private struct QuotesWorld {
    /// The largest number of messages in flight, in place of the server's send buffer.
    static let room = 2

    var random: SplitMix64
    let format: QuotesFormat
    var table: QuoteTable
    var feed: Feed?
    var machine: QuotesMachine
    var now = Moment.start
    var replies: [[UInt8]] = []
    var requests: [[UInt8]] = []
    var shown: [String: Int64] = [:]
    var gaveUp = false

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        format = seed % 2 == 0 ? .json : .messagePack
        let count = Int.random(in: 1...450, using: &random)
        table = QuoteTable(market: 3, symbols: (0..<count).map { ("S\($0)", .of(1000)) })
        machine = QuotesMachine(rate: seed % 3 == 0 ? 5 : nil)
        apply(.command(.subscribe(id: 1, [SymbolPattern("S*")!])))
    }

    /// One random event.
    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<40: trade()
        case ..<60: serve()
        case ..<80: if !replies.isEmpty { deliver(replies.removeFirst()) }
        case ..<90: if !requests.isEmpty { ask(requests.removeFirst()) }
        case ..<92: if feed?.counts.messages ?? 0 > 0, replies.count > 1 { replies.removeLast() }
        case ..<93: cut()
        case ..<96: if feed == nil { connect() }
        case ..<97 where machine.count > 0 && !machine.isSubscribed(2): apply(.command(.subscribe(id: 2, [SymbolPattern("S1*")!])))
        default: pass(.milliseconds(Int.random(in: 1...300, using: &random)))
        }
    }

    /// Lets everything settle, on a link without faults.
    mutating func rest() {
        // The heartbeat shows whether the last message was lost.
        for _ in 0..<60 {
            if feed == nil { connect() }
            while !requests.isEmpty { ask(requests.removeFirst()) }
            serve()
            while !replies.isEmpty { deliver(replies.removeFirst()) }
            pass(.milliseconds(500))
        }
    }

    private mutating func trade() {
        for _ in 0..<Int.random(in: 1...20, using: &random) {
            let symbol = Int.random(in: 0..<table.count, using: &random)
            table.trade(symbol, at: Int64.random(in: 500...1500, using: &random))
            feed?.note(changed: symbol)
        }
    }

    private mutating func serve() {
        while replies.count < Self.room, let reply = feed?.next(from: table, at: now) { replies.append(format.encode(reply)) }
    }

    private mutating func deliver(_ bytes: [UInt8]) {
        let reply = try? bytes.withUnsafeBytes { try format.reply(from: $0.bytes) }
        apply(reply.map { .received($0) } ?? .undecodable(""))
    }

    private mutating func ask(_ bytes: [UInt8]) {
        if let request = try? bytes.withUnsafeBytes({ try format.request(from: $0.bytes) }) {
            feed?.receive(request)
        } else {
            feed?.receiveMalformed("")
        }
    }

    private mutating func connect() {
        feed = Feed(of: table)
        apply(.opened(nil))
    }

    private mutating func cut() {
        guard feed != nil else { return }
        (feed, replies, requests) = (nil, [], [])
        apply(.lost(unsent: []))
    }

    private mutating func pass(_ duration: Duration) {
        now = now + duration
        var effects: [QuotesMachine.Effect] = []
        machine.wake(at: now, into: &effects)
        perform(effects)
    }

    private mutating func apply(_ input: QuotesMachine.Input) {
        var effects: [QuotesMachine.Effect] = []
        machine.handle(input, at: now, into: &effects)
        perform(effects)
    }

    private mutating func perform(_ effects: [QuotesMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let request): requests.append(format.encode(request))
            case .end: gaveUp = true
            case .ready, .connect: break
            case .event(.refused(_, let code, let message)): Issue.record("refused: \(code), \(message)")
            case .event(.changed(let places)):
                for place in places {
                    guard let quote = machine[place] else { continue }
                    if quote.version < shown[quote.symbol, default: 0] { Issue.record("\(quote) goes back") }
                    shown[quote.symbol] = quote.version
                    let symbol = table.names.firstIndex(of: quote.symbol) ?? 0
                    // The quote equals the market's state at that version, although the market may have changed since.
                    if quote.version == table[symbol].version, quote.state != table[symbol] { Issue.record("\(quote) is wrong") }
                }
            }
        }
        if gaveUp {
            gaveUp = false
            cut()
        }
    }
}

extension QuotesMachine {
    /// Whether the subscription that the world adds was added.
    fileprivate func isSubscribed(_ id: Int64) -> Bool {
        var (copy, effects) = (self, [QuotesMachine.Effect]())
        copy.handle(.command(.unsubscribe(id: id)), at: .distantFuture, into: &effects)
        return copy != self
    }
}

@Suite struct QuotesWorldTests {
    @Test(arguments: 0..<40)
    func `with any order of changes, delays, losses and cuts the client ends equal to the market`(seed: UInt64) {
        var world = QuotesWorld(seed: seed)
        for _ in 0..<1500 { world.step() }
        world.rest()
        let machine = world.machine
        #expect(machine.phase == .following && machine.counts.garbage == 0)
        for (symbol, name) in world.table.names.enumerated() {
            let quote = machine.place(of: name).flatMap { machine[$0] }
            #expect(quote?.state == world.table[symbol] && quote?.isCurrent == true, "\(name), seed \(seed)")
        }
    }

    @Test func `the random runs contain gaps, cuts, conflation and resyncs`() {
        var world = QuotesWorld(seed: 1)
        for _ in 0..<3000 { world.step() }
        let counts = world.machine.counts
        #expect(counts.gaps > 5 && counts.resyncs > 5 && counts.connections > 5 && counts.conflated > 50 && counts.ticks > 500)
    }
}
