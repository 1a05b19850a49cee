import MachineCore
import RoomCore
import Testing

/// Concurrent reads of the log for clients, and their order.
@Suite struct HubReadingTests {
    private var stage = HubStage()

    private static func policy(_ change: (inout HubPolicy) -> Void) -> HubPolicy {
        var policy = HubPolicy()
        change(&policy)
        return policy
    }

    /// A room of ten entries of 60 KB, with clients in it.
    ///
    /// From then on the test decides when the log answers.
    private mutating func begin(_ policy: HubPolicy, _ users: [String]) -> [ConnectionID] {
        stage = HubStage(policy)
        let maker = stage.member("maker")
        for cseq in 1...10 as ClosedRange<Int64> { stage.handle(maker, .publish(.lobby, .numbered(cseq, bytes: 60_000))) }
        stage.pass(.seconds(60))
        let ids = users.map { stage.member($0) }
        stage.pass(.seconds(60))
        stage.holdsLog = true
        return ids
    }

    private mutating func ask(_ id: ConnectionID, _ reference: Int64) {
        stage.handle(id, .history(.init(reference: reference, room: .lobby, before: 11, limit: 500)))
    }

    private mutating func pages(_ id: ConnectionID) -> [Int64] {
        stage.takeFrames(id).compactMap { if case .page(let page) = $0 { page.reference } else { nil } }
    }

    @Test mutating func `pending reads have a byte limit, and users take turns`() {
        let ids = begin(Self.policy { ($0.readBytes, $0.reads) = (1, 8) }, ["ann", "ann", "bob"])
        for reference in 1...3 as ClosedRange<Int64> { for id in ids { ask(id, reference) } }
        var order: [Int] = []
        while !stage.orders.isEmpty {
            #expect(stage.orders.count == 1, "one page is the bound")
            stage.answer(1)
            for (place, id) in ids.enumerated() where !pages(id).isEmpty { order.append(place) }
        }
        // Ann's first read was pending before Bob came. From then on Bob has every second turn, and Ann's connections share hers.
        #expect(order == [0, 1, 2, 0, 2, 1, 2, 0, 1])
    }

    @Test mutating func `a connection has a limit of pending reads, and none while it is congested`() {
        let ids = begin(Self.policy { $0.reads = 1 }, ["ann", "bob"])
        for reference in 1...3 as ClosedRange<Int64> { ask(ids[0], reference) }
        #expect(stage.orders.count == 1)
        stage.give(.congested(ids[0]))
        stage.answer(1)
        #expect(stage.orders.isEmpty && pages(ids[0]) == [1])
        ask(ids[1], 9)
        stage.answer()
        #expect(pages(ids[1]) == [9], "nobody else waits for it")
        stage.give(.drained(ids[0]))
        stage.answer()
        #expect(pages(ids[0]) == [2, 3])
    }

    @Test mutating func `a connection that gets congested while its read waits has nothing read`() {
        let ids = begin(Self.policy { $0.readBytes = 1 }, ["ann", "bob"])
        for id in ids { ask(id, 1) }
        stage.give(.congested(ids[1]))
        stage.answer(1)
        #expect(stage.orders.isEmpty && pages(ids[0]) == [1])
        stage.give(.drained(ids[1]))
        stage.answer()
        #expect(pages(ids[1]) == [1])
    }

    @Test mutating func `pages are charged by their bytes, and the next one waits for the budget`() {
        let rate = HubPolicy.Rate(perSecond: 100_000, burst: 100_000)
        let changes: [(inout HubPolicy) -> Void] = [{ $0.connection.pages = rate }, { $0.user.pages = rate }, { $0.address.pages = rate }]
        let answered = changes.map { change in
            let ids = begin(Self.policy(change), ["ann", "ann", "bob"])
            stage.holdsLog = false
            return ids.map { id in
                ask(id, 1)
                ask(id, 2)
                return pages(id).count
            }
        }
        #expect(answered == [[1, 1, 1], [1, 0, 1], [1, 0, 0]])
        stage.pass(.seconds(60))
        let eve = stage.client("eve")
        stage.handle(eve, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(eve).states.count == 1)
        stage.handle(eve, .join(.init(room: .lobby)))
        guard case .after(let wait)? = stage.takeFrames(eve).refusals.first?.retry else {
            Issue.record("a state is charged, too")
            return
        }
        stage.pass(.milliseconds(wait))
        stage.handle(eve, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(eve).states.count == 1)
    }

    @Test mutating func `a user and the hub have limits of open history requests`() {
        let changes: [(inout HubPolicy) -> Void] = [{ $0.userQuestions = 3 }, { $0.allQuestions = 3 }]
        let open = changes.map { change in
            let ids = begin(Self.policy(change), ["ann", "ann", "bob"])
            let refused = ids.map { id in
                ask(id, 1)
                ask(id, 2)
                return stage.takeFrames(id).codes.count { $0 == .rate }
            }
            stage.answer()
            for id in ids { ask(id, 3) }
            #expect(ids.allSatisfy { stage.takeFrames($0).codes.isEmpty }, "answered requests no longer count")
            return refused
        }
        #expect(open == [[0, 1, 0], [0, 1, 2]])
    }

    @Test mutating func `nothing is read for a client that left, and no state of it remains`() {
        let ids = begin(Self.policy { $0.reads = 1 }, ["ann"])
        for reference in 1...3 as ClosedRange<Int64> { ask(ids[0], reference) }
        stage.give(.gone(ids[0]))
        stage.answer(1)
        #expect(!stage.orders.contains { if case .fetchBefore = $0 { true } else { false } })
    }

    @Test mutating func `the last number of a device is acked again without a read of the log`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...2)
        let acks = stage.takeFrames(ann).acks
        stage.holdsLog = true
        stage.publish(ann, 2...2)
        let again = stage.takeFrames(ann).acks
        #expect(stage.orders.isEmpty && again.map(\.seq) == [2] && again.first?.isDuplicate == true && again.first?.at == acks.last?.at)
        stage.publish(ann, 1...1)
        #expect(stage.orders.count == 1 && stage.takeFrames(ann).isEmpty)
    }
}
