import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// What a client does before its store is open, and what it asks its app for on a connection.
@Suite struct StoreOpeningTests {
    private let abc = ClientBench.abc

    /// A client whose store is not open, with what it was told.
    private struct Closed {
        var machine: RoomsMachine
        var effects: [RoomsEffect] = []
        var now = Moment.start

        init(policy: RoomsPolicy = RoomsPolicy()) { machine = RoomsMachine(policy: policy, seed: 1) }

        mutating func handle(_ inputs: RoomsInput...) { for input in inputs { machine.handle(input, at: now, into: &effects) } }
    }

    @Test func `what the app wants before the store is open waits for it, and only the last connection is greeted`() {
        var client = Closed()
        client.handle(
            .command(.calendar(ClientBench.noon)), .command(.join(abc, JoinRequest())), .opened(RoomsGreeting(token: "t")),
            .received(.refusal(Refusal(.order, "no hello came"))), .lost, .opened(RoomsGreeting(token: "u")))
        #expect(client.effects == [] && client.machine.deadline == nil)
        client.handle(.command(.storeOpened(ClientBench.device, keeps: .max, waiting: [])))
        #expect(client.effects.prefix(2) == [.news(.phase(abc, .loading)), .load(abc)])
        let hellos = client.effects.compactMap { if case .send(.hello(let hello)) = $0 { hello } else { nil } }
        #expect(hellos.map(\.token) == ["u"] && hellos.allSatisfy { $0.device == ClientBench.device })
    }

    @Test func `a server that is no hub is left also while the store is not open`() {
        var client = Closed()
        client.handle(.opened(RoomsGreeting(token: nil)), .undecodable("220 ready"))
        #expect(client.effects == [.event(.unreadable), .end(.rejected("the hub sent an invalid frame"))])
        client.handle(.lost, .command(.storeOpened(ClientBench.device, keeps: .max, waiting: [])))
        #expect(client.effects.count == 2, "no hello without a connection")
    }

    @Test func `a calendar that was read before the store is open counts from when it was read`() {
        var client = Closed()
        client.handle(.command(.calendar(ClientBench.noon - 9)), .opened(RoomsGreeting(token: nil, calendar: ClientBench.noon)))
        client.now = client.now + .seconds(100)
        client.handle(.command(.storeOpened(ClientBench.device, keeps: .max, waiting: [])), .command(.join(abc, JoinRequest())))
        // The hub's clock and the calendar agree, so no time is corrected.
        let welcome = HubFrame.Welcome(
            version: 1, connection: "c1", user: ClientBench.ann, now: ClientBench.noon + 100_000, expires: 0, window: 90 * 86_400_000,
            limits: RoomsLimits())
        client.handle(.received(.welcome(welcome)), .command(.loaded(abc, StoredRoom())))
        client.effects = []
        client.handle(.command(.submit(abc, .of(1), sent: ClientBench.noon + 100_000, .text)))
        let queued = client.effects.compactMap { effect -> Int64? in
            guard case .event(.commit(_, let changes)) = effect, case .queue(let row)? = changes.first else { return nil }
            return row.publication.sent
        }
        #expect(queued == [ClientBench.noon + 100_000])
    }

    @Test func `a store is opened once`() {
        var bench = ClientBench()
        bench.handle(.storeOpened(DeviceID(Bits128(high: 9, low: 9)), keeps: .max, waiting: []))
        #expect(bench.machine.device == ClientBench.device)
    }

    private func welcomed(margin: Duration?, expires: Int64) -> ClientBench {
        var policy = RoomsPolicy()
        policy.tokenMargin = margin
        var bench = ClientBench(policy: policy)
        bench.open()
        bench.welcome { $0.expires = expires }
        _ = bench.look()
        return bench
    }

    @Test func `a fresh token is asked for before the end of the one on the connection, once for each`() {
        var bench = welcomed(margin: .seconds(30), expires: ClientBench.noon + 100_000)
        bench.pass(.seconds(69))
        #expect(bench.look() == [])
        bench.pass(.seconds(1))
        #expect(bench.look() == [.event(.tokenWanted)])
        bench.pass(.seconds(600))
        #expect(bench.look() == [])
        bench.receive(.renewed(expires: ClientBench.noon + 2_000_000))
        _ = bench.look()
        bench.pass(.seconds(1299))
        #expect(bench.look() == [])
        bench.pass(.seconds(1))
        #expect(bench.look() == [.event(.tokenWanted)])
    }

    @Test func `no token is asked for that does not end, or of which there are none, or whose connection is lost`() {
        for var bench in [welcomed(margin: .seconds(30), expires: 0), welcomed(margin: nil, expires: ClientBench.noon + 100_000)] {
            bench.pass(.seconds(600))
            #expect(bench.look() == [])
        }
        var bench = welcomed(margin: .seconds(30), expires: ClientBench.noon + 100_000)
        bench.handle(.lost)
        bench.pass(.seconds(600))
        #expect(bench.look() == [])
    }

    @Test func `a hub that sends what is no frame is left, and another connection follows after the backoff of the socket`() {
        var bench = welcomed(margin: nil, expires: 0)
        bench.handle(.undecodable("no frame"))
        #expect(bench.look() == [.event(.unreadable), .end(.rejected("the hub sent an invalid frame"))])
        bench.handle(.undecodable("nor is this"))
        #expect(bench.look() == [], "nothing of that connection counts")
    }
}
