import HoldfastTesting
import MachineCore
import RoomCore
import RoomHistory

/// Clients and a hub, the machines as they are shipped, on disks and links that fail; no tasks and no clock, all chance from a seed.
final class SimWorld {
    /// What can be planned.
    ///
    /// What belongs to a program is void when that program has ended.
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

    /// 2026-01-01, when every world begins.
    static let epoch: Int64 = 1_767_225_600_000

    let seed: UInt64
    let plan: SimPlan
    /// Whether each step is printed.
    let isTold: Bool
    var random: SeededGenerator
    var now: Int64 = 0
    /// How much longer than the world lasts the time was by the calendars: everything slept.
    var absence: Int64 = 0
    var agenda = SimAgenda()
    let hub = SimHub()
    var clients: [SimClient] = []
    var lastLink: UInt64 = 0
    /// Hellos that have reached the hub, and what it has promised since.
    var greetings: Int64 = 0
    var fences: [SimFence.Place: SimFence] = [:]
    var isHostile = true
    /// When a half-open link was seen to be one, the hub started, or a store that had failed was read again: what a healed world has left
    /// of its misfortunes.
    var lastTrouble: Int64 = 0
    /// When the hub has let go of the last one who had gone, or answered the last one who came.
    var presenceChanged: Int64 = 0
    let rooms: [RoomName]
    var checker = HistoryChecker()
    var history: [HistoryEvent] = []
    var counts: [SimCount: Int64] = [:]
    var names = SimNames()
    var serverMessages = 0
    /// The server's own messages by the number of their request.
    var requests: [UInt64: SimServerMessage] = [:]
    var steps = 0

    init(seed: UInt64, plan: SimPlan, isTold: Bool = false) {
        (self.seed, self.plan, self.isTold) = (seed, plan, isTold)
        random = SeededGenerator(seed: seed &* 31 &+ 7)
        // Two that look the same, where there are two.
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
        // Most logs are not so young that they follow a calendar back.
        if !seed.isMultiple(of: 4) { hub.log.clock.hasForgotten() }
        agenda.plan(.startHub(life: 0), at: jitter(300))
        if !plan.faults.isEmpty { agenda.plan(.fault, at: jitter(2 * plan.faultEvery)) }
    }

    // MARK: Chance

    /// A number from 0 up to, but not at, a bound.
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

    func notify(_ text: @autoclosure () -> String) { if isTold { print("\(now) \(text())") } }

    /// Lets everything happen that is due before a time.
    func run(until end: Int64) {
        while step(before: end) {}
        now = end
    }

    /// Lets the next thing happen, if it is due before a time.
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
