import CodecCore
import HoldfastTesting
import MachineCore

@testable import WAMPCore

/// Clients and a router, the shipped machines, on links that fail.
///
/// There are no tasks and no clock, and all random choices come from a seed.
final class SimWorld {
    /// A planned event.
    enum Event {
        case connect(SimClient)
        case arrivesAtRouter(SimLink, SimLink.Item)
        case arrivesAtClient(SimLink, SimLink.Item)
        /// One end of a cut link notices that.
        case ends(SimLink, atClient: Bool)
        case input(SimClient, life: Int, ClientInput)
        case verdict(RouterConnection, RouterVerdict, routerLife: Int)
        case reply(SimClient, life: Int, UInt64, SimReply)
        case acts(SimClient), fault, routerStarts
    }

    let plan: SimPlan
    /// Whether each step is printed.
    let isVerbose: Bool
    var random: SeededGenerator
    var now: Int64 = 0
    var agenda = SimAgenda<Event>()
    var router: RouterMachine
    var routerLife = 0
    var isRouterUp = true
    var clients: [SimClient] = []
    var links: [RouterConnection: SimLink] = [:]
    var lastConnection: UInt64 = 0
    var lastHandle: UInt64 = 0
    var hasFaults = true
    /// The faults have ended, and every request must succeed.
    var isProbing = false
    /// The publications that all listeners of their topic must receive.
    var probes: [Int64: String] = [:]
    /// The caller and the URI of each call; each invocation must belong to a call.
    var calls: [Int64: (client: Int64, uri: String)] = [:]
    /// How often each call reached a callee, and the publications that any listener received.
    var invoked: [Int64: Int] = [:]
    var received: Set<Int64> = []
    /// The connection of each publication; publications of different connections have no order.
    var origins: [Int64: UInt64] = [:]
    /// Requests that ended before they were sent, as far as their client knows.
    var unsent: Set<Int64> = []
    var counts: [SimCount: Int64] = [:]
    var violations: [String] = []
    var steps = 0

    init(seed: UInt64, plan: SimPlan, isVerbose: Bool = false) {
        (self.plan, self.isVerbose) = (plan, isVerbose)
        random = SeededGenerator(seed: seed &* 31 &+ 7)
        router = RouterMachine(policy: Self.policy(plan), seed: seed)
        for number in 1...plan.clients {
            let client = SimClient(Int64(number), seed: random.next())
            clients.append(client)
            agenda.plan(.connect(client), at: jitter(300))
            // A client registers about half of the procedures.
            for procedure in Self.procedures where oneIn(2) { register(client, procedure) }
            agenda.plan(.acts(client), at: jitter(500))
        }
        if !plan.faults.isEmpty { agenda.plan(.fault, at: jitter(2 * plan.faultEvery)) }
    }

    static func policy(_ plan: SimPlan) -> RouterPolicy {
        RouterPolicy(realms: ["world"], historyLength: plan.historyLength, quirks: plan.quirks)
    }

    // MARK: Random choices and output

    /// A number from 0 up to, but not including, a bound.
    func jitter(_ bound: Int64) -> Int64 { bound <= 0 ? 0 : Int64(random.next() % UInt64(bound)) }
    func oneIn(_ number: UInt64) -> Bool { random.next() % number == 0 }
    func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
    }
    func newHandle() -> UInt64 {
        lastHandle += 1
        return lastHandle
    }
    func count(_ what: SimCount, _ number: Int64 = 1) { counts[what, default: 0] += number }
    func notify(_ text: @autoclosure () -> String) { if isVerbose { print("\(now) \(text())") } }
    func report(_ text: String) {
        notify("!!! \(text)")
        if violations.count < 20 { violations.append("\(now) ms: \(text)") }
    }

    // MARK: Time

    var moment: Moment { Moment(.milliseconds(now)) }

    /// The first whole millisecond at which a deadline has passed.
    private static func milliseconds(_ moment: Moment?) -> Int64? {
        guard let passed = moment?.offset.components else { return nil }
        if passed.seconds > 1 << 40 { return nil }
        return passed.seconds * 1000 + (passed.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }

    /// Runs all events before a time.
    func run(until end: Int64) {
        while violations.isEmpty, step(before: end) {}
        now = max(now, end)
    }

    private func step(before end: Int64) -> Bool {
        let routerDue = isRouterUp ? Self.milliseconds(router.deadline) : nil
        let dues = clients.map { Self.milliseconds($0.machine.deadline) }
        guard let next = ([agenda.next, routerDue] + dues).compactMap(\.self).min(), next < end else { return false }
        now = max(now, next)
        steps += 1
        if steps > 400_000 { report("the simulation does not end") }
        if let routerDue, routerDue <= now {
            let before = router.deadline
            drive { $0.wake(at: $1, into: &$2) }
            if router.deadline == before { report("the router's deadline \(String(describing: before)) does not change") }
        } else if let place = dues.firstIndex(where: { $0.map { $0 <= now } ?? false }) {
            let before = clients[place].machine.deadline
            drive(clients[place]) { $0.wake(at: $1, into: &$2) }
            if clients[place].machine.deadline == before { report("client \(place + 1)'s deadline does not change") }
        } else if let event = agenda.pop() {
            happen(event)
        }
        return true
    }

    private func happen(_ event: Event) {
        switch event {
        case .connect(let client): connect(client)
        case .arrivesAtRouter(let link, let item): arriveAtRouter(link, item)
        case .arrivesAtClient(let link, let item): arriveAtClient(link, item)
        case .input(let client, let life, let input):
            guard client.life == life else { return }
            drive(client) { $0.handle(input, at: $1, into: &$2) }
        case .verdict(let connection, let verdict, let life):
            guard isRouterUp, life == routerLife else { return }
            drive { $0.handle(.examined(connection, verdict), at: $1, into: &$2) }
        case .acts(let client):
            guard hasFaults else { return }
            act(client)
            agenda.plan(.acts(client), at: now + 1 + jitter(2 * plan.actionEvery))
        case .fault:
            guard hasFaults else { return }
            injectFault()
            agenda.plan(.fault, at: now + 1 + jitter(2 * plan.faultEvery))
        case .routerStarts: startRouter()
        case .ends(let link, let atClient): if atClient { endAtClient(link) } else { endAtRouter(link) }
        case .reply(let client, let life, let invocation, let reply):
            if client.life == life { answer(invocation, with: reply, by: client) }
        }
    }
}
