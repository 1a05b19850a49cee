import Board
import HoldfastProtocols
import HoldfastTesting
import Testing

/// A client of boards over connections that are lost.
@Suite struct BoardSimulationTests {
    // snippet.SERVER
    /// A minimal server of boards.
    struct Server: SimulatedServer {
        typealias Client = BoardRules
        var texts: [String] = []
        var seen: Set<UInt64> = []
        /// The subscriptions of this connection, with the number of items sent for each.
        var followed: [UInt64: Int] = [:]

        mutating func open() -> [BoardReply] {
            followed = [:]
            return []
        }

        mutating func receive(_ request: BoardRequest) -> [BoardReply] {
            switch request {
            case .hello: return [.welcome]
            case .post(let id, _, let text):
                if seen.insert(id).inserted { texts.append(text) }
                return [.ack(id: id)] + news()
            case .follow(let id, _, let after):
                followed[id] = after
                return [.following(id: id)] + news()
            case .unfollow(let id): followed[id] = nil
            case .pong: break
            }
            return []
        }

        private mutating func news() -> [BoardReply] {
            followed.keys.sorted().flatMap { id in
                (followed.updateValue(texts.count, forKey: id)!..<texts.count).map { .item(id: id, number: $0 + 1, text: texts[$0]) }
            }
        }
    }
    // snippet.end

    // snippet.SIMULATE
    @Test(arguments: 1...UInt64(100)) func `over any cuts, each post is kept once, and each item comes once`(seed: UInt64) {
        var world = ProtocolSimulation(BoardRules(name: "me", seed: seed), Server(), greeting: nil, seed: seed)
        world.perform(.follow(RequestID(1000), channel: "news", after: 0))
        for number in 1...50 {
            world.perform(.post(RequestID(UInt64(number)), channel: "news", text: "text \(number)", patience: nil))
            world.run(for: .milliseconds(200), cuts: number % 2)
        }
        world.run(for: .seconds(60))

        #expect(Set(world.server.texts) == Set((1...50).map { "text \($0)" }) && world.server.texts.count == 50)
        let items = world.events.compactMap { if case .item(_, let text) = $0.news { text } else { nil } }
        #expect(items == world.server.texts)
        #expect(world.events.count { $0.news == .posted } == 50)
        #expect(world.connections > 10 && world.readies > 1)
    }
    // snippet.end

    @Test(arguments: 1...UInt64(100)) func `a client that leaves and follows again gets all items on healthy connections`(seed: UInt64) {
        var world = ProtocolSimulation(BoardRules(name: "me", seed: seed), Server(), greeting: nil, seed: seed)
        for number in 1...60 {
            world.perform(.post(RequestID(UInt64(number)), channel: "news", text: "text \(number)", patience: nil))
            if number % 3 == 0 {
                world.perform(.leave(RequestID(UInt64(1000 + number - 3))))
                world.perform(.follow(RequestID(UInt64(1000 + number)), channel: "news", after: 0))
            }
            world.run(for: .milliseconds(60), cuts: number % 10 == 0 ? 1 : 0)
        }
        world.run(for: .seconds(60))
        let items = world.events.compactMap { event -> String? in
            if case .item(_, let text) = event.news, event.request == RequestID(1060) { text } else { nil }
        }
        #expect(items == world.server.texts && items.count == 60)
        #expect(world.ends.allSatisfy { $0 == .cut(reason: "the board is silent") })
        #expect(world.server.followed.count <= 1)
    }

    @Test func `a silent server is left, and another connection is tried`() {
        struct Silent: SimulatedServer {
            typealias Client = BoardRules
            mutating func open() -> [BoardReply] { [] }
            mutating func receive(_ request: BoardRequest) -> [BoardReply] { [] }
        }
        var world = ProtocolSimulation(BoardRules(name: "me", seed: 1), Silent(), greeting: nil, seed: 1)
        world.run(for: .seconds(60))
        #expect(world.ends.allSatisfy { $0 == .cut(reason: "the board is silent") } && world.connections > 5 && world.readies == 0)
    }

    @Test func `a post without an answer fails in time, and says whether it may have arrived`() {
        var world = ProtocolSimulation(BoardRules(name: "me", seed: 1), Server(), greeting: nil, seed: 1)
        world.perform(.post(RequestID(1), channel: "news", text: "x", patience: .zero))
        world.run(for: .seconds(1))
        #expect(world.events.map(\.news) == [.failed(reason: "no answer in time", mayHaveArrived: false)])
        #expect(world.server.texts == [])
    }
}
