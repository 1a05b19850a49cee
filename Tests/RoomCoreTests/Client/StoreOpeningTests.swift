import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// How a client behaves before its store is open, and when it asks the app for tokens.
@Suite struct StoreOpeningTests {
    private let abc = ClientBench.abc

    /// A client whose store is not open, with its effects.
    private struct Closed {
        var machine: RoomsMachine
        var effects: [RoomsEffect] = []
        var now = Moment.start

        init(policy: RoomsPolicy = RoomsPolicy()) { machine = RoomsMachine(policy: policy, seed: 1) }

        mutating func handle(_ inputs: RoomsInput...) { for input in inputs { machine.handle(input, at: now, into: &effects) } }
    }

    @Test func `commands wait until the store is open, and only the last connection gets a hello`() {
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

    @Test func `a client leaves a server that is no hub even while the store is not open`() {
        var client = Closed()
        client.handle(.opened(RoomsGreeting(token: nil)), .undecodable("220 ready"))
        #expect(client.effects == [.event(.unreadable), .end(.rejected("the hub sent an invalid frame"))])
        client.handle(.lost, .command(.storeOpened(ClientBench.device, keeps: .max, waiting: [])))
        #expect(client.effects.count == 2, "no hello without a connection")
    }

    @Test func `a calendar time read before the store is open counts from the moment it was read`() {
        var client = Closed()
        client.handle(.command(.calendar(ClientBench.noon - 9)), .opened(RoomsGreeting(token: nil, calendar: ClientBench.noon)))
        client.now = client.now + .seconds(100)
        client.handle(.command(.storeOpened(ClientBench.device, keeps: .max, waiting: [])), .command(.join(abc, JoinRequest())))
        // The hub's clock and the calendar agree, so the client corrects no time.
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

    @Test func `a client opens its store once`() {
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
        _ = bench.takeEffects()
        return bench
    }

    @Test func `a client asks for a fresh token once before each token ends`() {
        var bench = welcomed(margin: .seconds(30), expires: ClientBench.noon + 100_000)
        bench.pass(.seconds(69))
        #expect(bench.takeEffects() == [])
        bench.pass(.seconds(1))
        #expect(bench.takeEffects() == [.event(.tokenWanted)])
        bench.pass(.seconds(600))
        #expect(bench.takeEffects() == [])
        bench.receive(.renewed(expires: ClientBench.noon + 2_000_000))
        _ = bench.takeEffects()
        bench.pass(.seconds(1299))
        #expect(bench.takeEffects() == [])
        bench.pass(.seconds(1))
        #expect(bench.takeEffects() == [.event(.tokenWanted)])
    }

    @Test func `a client asks for no token if the current one does not end, if none can be had, or after a disconnect`() {
        for var bench in [welcomed(margin: .seconds(30), expires: 0), welcomed(margin: nil, expires: ClientBench.noon + 100_000)] {
            bench.pass(.seconds(600))
            #expect(bench.takeEffects() == [])
        }
        var bench = welcomed(margin: .seconds(30), expires: ClientBench.noon + 100_000)
        bench.handle(.lost)
        bench.pass(.seconds(600))
        #expect(bench.takeEffects() == [])
    }

    @Test func `a client leaves a hub that sends an invalid frame, and reconnects after the session's backoff`() {
        var bench = welcomed(margin: nil, expires: 0)
        bench.handle(.undecodable("no frame"))
        #expect(bench.takeEffects() == [.event(.unreadable), .end(.rejected("the hub sent an invalid frame"))])
        bench.handle(.undecodable("nor is this"))
        #expect(bench.takeEffects() == [], "nothing of that connection counts")
    }
}
