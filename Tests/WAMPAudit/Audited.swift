package import MachineCore
package import WAMPCore

/// The client with checks of its invariants.
package typealias AuditedClient = Audited<ClientMachine>

/// A client with a plain list of its open requests, which reports the first violated invariant.
package struct Audited<Client: Machine>: Machine where Client.Input == ClientInput, Client.Effect == ClientEffect {
    package enum Kind: Hashable, Sendable { case call, publication, listener, leaver, procedure }
    struct Request: Hashable, Sendable {
        let id: WAMPID
        let message: WAMPMessage
    }
    struct Standing: Hashable, Sendable {
        let id: WAMPID
        let key: TopicKey
    }

    private var machine: Client
    /// What has begun and not ended.
    package internal(set) var live: [ClientHandle: Kind] = [:]
    var used: Set<ClientHandle> = []
    var active: Set<ClientHandle> = []
    package internal(set) var isOpen = false
    /// HELLO was sent and not answered.
    var isGreeting = false
    var hasJoined = false
    /// The connection is about to be ended.
    package internal(set) var isSilenced = false
    var hasLeft = false
    var isOver = false
    var lastID: WAMPID = 0
    /// Requests that the router has not answered, including cancelled calls.
    var open: [Request] = []
    var subscriptions: [Standing] = []
    var registrations: [Standing] = []
    var invocations: [ClientHandle] = []
    var unanswered: Set<WAMPID> = []
    var nextGrant: WAMPID = 1000
    package private(set) var fault: String?
    package var deadline: Moment? { machine.deadline }

    private init(machine: Client) { self.machine = machine }

    package mutating func handle(_ input: ClientHappening, at now: Moment, into effects: inout [ClientEffect]) {
        guard let real = translate(input) else { return }
        let first = effects.count
        machine.handle(real, at: now, into: &effects)
        for effect in effects[first...] { judge(effect) }
        check()
    }
    package mutating func wake(at now: Moment, into effects: inout [ClientEffect]) {
        let first = effects.count
        machine.wake(at: now, into: &effects)
        for effect in effects[first...] { judge(effect) }
        check()
        expect(machine.deadline.map { $0 > now } ?? true, "an alarm leaves no passed deadline")
    }

    /// The invariants between two inputs.
    private mutating func check() {
        if isOver || hasLeft { expect(live.isEmpty, "nothing is left after the end: \(live)") }
        guard !isOpen || isOver else { return }
        if live.isEmpty { return expect(machine.deadline == nil, "an idle client has no deadline") }
        let waits = live.contains { $0.value == .call || $0.value == .publication || !active.contains($0.key) && $0.value == .listener }
        if waits { expect(machine.deadline != nil, "a pending request has a deadline") }
    }

    mutating func expect(_ fact: Bool, _ promise: String) { if !fact, fault == nil { fault = promise } }
}

extension Audited where Client == ClientMachine {
    package init(policy: ClientPolicy = ClientPolicy(realm: "realm1"), seed: UInt64 = 1) {
        self.init(machine: ClientMachine(policy: policy, seed: seed))
    }
}

// For clients that can be compared, as in a search of their states.
extension Audited: Equatable where Client: Equatable {}
extension Audited: Hashable where Client: Hashable {}
