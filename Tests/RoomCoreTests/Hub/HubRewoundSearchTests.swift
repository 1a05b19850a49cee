import HoldfastTesting
import MachineCore
import RoomCore
import Testing

/// In any order of events: once all have joined after an unnoticed rewind, all members have the same entries.
@Suite struct HubRewoundSearchTests {
    private static let key = ProofKey(Bits128(high: 3, low: 4))

    /// A client that follows the rules of the protocol page, with its stored entries and its connection.
    private struct Reader {
        let device: UInt64
        var connection: ConnectionID?
        var cursor = LogPosition.nowhere
        var proof: CursorProof?
        var entries: [Entry] = []
        var isLive = false
        /// The messages that it has created.
        ///
        /// Each has its own ID.
        var next: Int64 = 1
    }

    private struct World {
        var random: SeededGenerator
        var stage = HubStage(proofs: HubRewoundSearchTests.key)
        var readers = (1...3).map { Reader(device: $0) }
        var copies: [ModelLog] = []
        var policy = HubPolicy()
        var found = 0
        var faults: [String] = []
        var requests: UInt64 = 0
        var lives: Int64 = 0

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            policy.limits.page = [2, 5, 500].randomElement(using: &random) ?? 5
            policy.tailEntries = [0, 2, 64].randomElement(using: &random) ?? 2
            policy.pageBytes = [700, 512 << 10].randomElement(using: &random) ?? 700
            start(ModelLog())
        }

        mutating func start(_ log: ModelLog) {
            found += stage.rewound.count
            stage = HubStage(policy, seed: random.next(), proofs: HubRewoundSearchTests.key)
            stage.log = log
            // A message that is stored again gets another time, and may be the same otherwise.
            lives += 1
            stage.give(.calendar(HubStage.newYear + lives * 1000))
            for place in readers.indices { (readers[place].connection, readers[place].isLive) = (nil, false) }
        }

        mutating func join(_ place: Int) {
            let reader = readers[place]
            let id = reader.connection ?? stage.client("u\(reader.device)", device: reader.device)
            readers[place].connection = id
            stage.handle(id, .join(.init(room: .lobby, cursor: reader.cursor, proof: reader.proof)))
            listen()
        }

        /// All clients handle their frames until none is left.
        mutating func listen() {
            var again: [Int] = []
            for place in readers.indices {
                guard let id = readers[place].connection else { continue }
                for frame in stage.takeFrames(id) { if take(frame, place) { again.append(place) } }
            }
            for place in again { join(place) }
        }

        /// Handles a frame.
        ///
        /// Returns whether the client must join again.
        mutating func take(_ frame: HubFrame, _ place: Int) -> Bool {
            switch frame {
            case .state(let state):
                if state.isSnapshot {
                    (readers[place].entries, readers[place].cursor) = (state.items, LogPosition(epoch: state.epoch, seq: state.to))
                } else {
                    append(state.items, state.epoch, place)
                }
                readers[place].proof = state.proof ?? (state.items.isEmpty ? readers[place].proof : nil)
                readers[place].isLive = !state.hasMore
                return state.hasMore
            case .entries(_, let epoch, let items, let proof):
                guard readers[place].isLive else { return false }
                append(items, epoch, place)
                readers[place].proof = proof
            case .lag:
                readers[place].isLive = false
                return true
            case .refusal(let refusal) where refusal.cseq == nil: faults.append("\(refusal)")
            default: break
            }
            return false
        }

        mutating func append(_ items: [Entry], _ epoch: UInt64, _ place: Int) {
            guard let last = items.last else { return }
            if epoch != readers[place].cursor.epoch || items[0].seq != readers[place].cursor.seq + 1 {
                faults.append("a gap at \(items[0].seq)")
            }
            readers[place].entries += items
            readers[place].cursor.seq = last.seq
        }

        /// The server publishes, so no device notices anything.
        ///
        /// It sends a message that may have had the number before, or another one.
        mutating func publish() {
            requests += 1
            let name = Bool.random(using: &random) ? UInt64((stage.log.rooms[.lobby]?.head ?? 0) + 1) : 1000 + requests
            let publication = Publication(
                cseq: 1, id: .numbered(1000 + Int64(name)), sent: HubStage.newYear, content: .init(type: "t", payload: .json([0x31])))
            stage.give(.publish(ServerRequest(requests), .lobby, .numbered(9000 + name), UserName("api")!, publication))
            listen()
        }

        /// Retention removes entries.
        ///
        /// The hub is told, or notices it later.
        mutating func trim() {
            let count = Int.random(in: 0...3, using: &random)
            if let reply = stage.log.trim(.lobby, to: count), Bool.random(using: &random) { stage.give(.log(reply)) }
        }

        mutating func live() {
            for _ in 0..<60 {
                let place = Int.random(in: 0..<3, using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0...2: publish()
                case 3: if Int.random(in: 0..<3, using: &random) == 0 { trim() } else { publish() }
                case 4, 5: join(place)
                case 6:
                    if let id = readers[place].connection { stage.give(.gone(id)) }
                    (readers[place].connection, readers[place].isLive) = (nil, false)
                case 7: copies.append(stage.log)
                case 8: start(stage.log)
                default: if let copy = copies.randomElement(using: &random) { start(copy) }
                }
            }
            for place in readers.indices { join(place) }
            publish()
            found += stage.rewound.count
            guard let log = stage.log.rooms[.lobby] else { return }
            // This includes the entries that retention has removed.
            var line: [Entry] = []
            for case .entry(let entry) in stage.log.written[.lobby, default: []].map(\.record) { line.append(entry) }
            for reader in readers where reader.cursor.epoch != log.epoch || reader.entries != line.suffix(reader.entries.count) {
                faults.append("\(reader.device) has \(reader.entries.map(\.id)) at \(reader.cursor), the log \(line.map(\.id))")
            }
            // After the rewind was noticed, no number of an epoch was used twice.
            for reader in readers where reader.cursor.seq != log.head { faults.append("\(reader.device) is at \(reader.cursor)") }
        }
    }

    @Test func `once all have joined all have the same entries, although the log went back unnoticed`() {
        var found = 0
        for seed in 1...400 as ClosedRange<UInt64> {
            var world = World(seed: seed)
            world.live()
            found += world.found
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults.prefix(3))")
            if !world.faults.isEmpty { return }
        }
        #expect(found > 200)
    }
}
