import HoldfastTesting
import MachineCore
import RoomCore
import RoomHistory

/// Clients and a hub with the real machines, on simulated disks and links.
///
/// There are no tasks and no clock, and all chance is from a seed.
final class SimWorld {
    /// A planned event.
    ///
    /// An event of a program is ignored when that program has ended.
    indirect enum Event {
        case client(SimClient, life: Int, ClientEvent)
        case hub(life: Int, HubEvent)
        case landsAtHub(SimLink), landsAtClient(SimLink)
        case linkEnds(SimLink, atClient: Bool)
        case startClient(SimClient, life: Int), startHub(life: Int)
        case fault, server(SimServerMessage, attempt: Int)
    }
    enum ClientEvent { case connect, storeWorks, storeFailed(Int64, full: Bool), input(RoomsInput), calendar, acts }
    enum HubEvent { case logWorks, input(HubInput), calendar, stopped }

    /// 2026-01-01, the start of every world.
    static let epoch: Int64 = 1_767_225_600_000

    let seed: UInt64
    let plan: SimPlan
    /// Whether each step is printed.
    let isVerbose: Bool
    var random: SeededGenerator
    var now: Int64 = 0
    /// The time that all programs slept, which the calendars show in addition to the world's time.
    var absence: Int64 = 0
    var agenda = SimAgenda()
    let hub = SimHub()
    var clients: [SimClient] = []
    var lastLink: UInt64 = 0
    /// The number of hellos that reached the hub.
    var helloCount: Int64 = 0
    var fences: [SimFence.Place: SimFence] = [:]
    var isHostile = true
    /// The last aftermath of a fault: a half-open link was noticed, the hub started, or a store that had failed was read again.
    var lastTrouble: Int64 = 0
    /// When the hub last removed a disconnected member, or welcomed a new one.
    var presenceChanged: Int64 = 0
    let rooms: [RoomName]
    var checker = HistoryChecker()
    var history: [HistoryEvent] = []
    var counts: [SimCount: Int64] = [:]
    var names = SimNames()
    var serverMessages = 0
    /// The server's messages by request number.
    var requests: [UInt64: SimServerMessage] = [:]
    var steps = 0

    init(seed: UInt64, plan: SimPlan, isVerbose: Bool = false) {
        (self.seed, self.plan, self.isVerbose) = (seed, plan, isVerbose)
        random = SeededGenerator(seed: seed &* 31 &+ 7)
        // Two of the names look the same, if there are two.
        rooms = (plan.rooms == 1 ? ["room"] : ["caf\u{E9}", "cafe\u{301}", "room"]).prefix(plan.rooms).compactMap { RoomName($0) }
        for number in 0..<plan.clients {
            guard let user = UserName(["ann", "zo\u{EB}", "zoe\u{308}", "dee"][number % 4]) else { continue }
            let client = SimClient(who: user.text, user: user, store: SimStore(device: DeviceID(using: &random), limit: plan.keeps))
            client.clock = jitter(2000) - 1000
            if number == 0 { client.diesAfter = plan.clientDiesAfter }
            clients.append(client)
            agenda.plan(.startClient(client, life: 0), at: jitter(500))
        }
        hub.diesAfter = plan.hubDiesAfter
        // Most logs are not young, so they do not follow a calendar back.
        if !seed.isMultiple(of: 4) { hub.log.clock.hasForgotten() }
        agenda.plan(.startHub(life: 0), at: jitter(300))
        if !plan.faults.isEmpty { agenda.plan(.fault, at: jitter(2 * plan.faultEvery)) }
    }

    // MARK: Chance

    /// A random number from 0 up to, but not including, a bound.
    func jitter(_ bound: Int64) -> Int64 { bound <= 0 ? 0 : Int64(random.next() % UInt64(bound)) }
    func oneIn(_ number: UInt64) -> Bool { random.next() % number == 0 }
    func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
    }

    // MARK: Time

    var moment: Moment { Moment(.milliseconds(now)) }

    static func milliseconds(_ moment: Moment?) -> Int64? {
        guard let passed = moment?.offset.components else { return nil }
        if passed.seconds > 1 << 40 { return nil }
        return passed.seconds * 1000 + (passed.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }

    func count(_ what: SimCount, _ number: Int64 = 1) { counts[what, default: 0] += number }

    func notify(_ text: @autoclosure () -> String) { if isVerbose { print("\(now) \(text())") } }

    /// Handles all events before a time.
    func run(until end: Int64) {
        while step(before: end) {}
        now = end
    }

    /// Handles the next event if it is due before a time.
    func step(before end: Int64) -> Bool {
        var next = agenda.next ?? .max
        for client in clients { if let due = client.due { next = min(next, due) } }
        if let due = hub.due { next = min(next, due) }
        guard next < end else { return false }
        now = max(now, next)
        steps += 1
        if let due = hub.due, due <= now {
            wakeHub()
        } else if let client = clients.first(where: { $0.due.map { $0 <= now } ?? false }) {
            wake(client)
        } else if let event = agenda.pop() {
            happen(event)
        }
        return true
    }

    private func happen(_ event: Event) {
        switch event {
        case .client(let client, let life, let event): if client.life == life, client.machine != nil { happen(event, to: client) }
        case .hub(let life, let event): if hub.life == life, hub.machine != nil { happenToHub(event) }
        case .landsAtHub(let link): landAtHub(link)
        case .landsAtClient(let link): landAtClient(link)
        case .linkEnds(let link, let atClient): if atClient { endAtClient(link) } else { endAtHub(link) }
        case .startClient(let client, let life): if client.life == life { start(client) }
        case .startHub(let life): if hub.life == life { startHub() }
        case .fault: haveFault()
        case .server(let message, let attempt): serve(message, attempt: attempt)
        }
    }
}
