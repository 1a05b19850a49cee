internal import MachineCore

/// The procedures that the app offers.
struct ProcedureTable: Hashable, Sendable {
    /// By number, in the order in which they were added.
    private var procedures: [Int: OfferedProcedure] = [:]
    private var numbers: [ClientHandle: Int] = [:]
    private var registrations: [WAMPID: Int] = [:]
    /// Procedures that are ending, or may still be registered without being wanted; the next procedure with the same URI waits for them.
    private var departing: [TopicKey: Set<Int>] = [:]
    private var lastNumber = 0
    /// The procedures whose registration was not reported yet.
    private(set) var waiting: Set<Int> = []

    var inOrder: [Int] { procedures.keys.sorted() }
    var isEmpty: Bool { procedures.isEmpty }

    subscript(number: Int) -> OfferedProcedure? { procedures[number] }

    func number(of handle: ClientHandle) -> Int? { numbers[handle] }
    func number(of registration: WAMPID) -> Int? { registrations[registration] }

    func isClear(_ key: TopicKey) -> Bool { departing[key] == nil }

    /// Returns whether an answer about the URI has been pending since this moment or longer.
    func isOverdue(_ key: TopicKey, since moment: Moment) -> Bool {
        departing[key]?.contains { procedures[$0].map { $0.flight != nil && $0.askedAt <= moment } ?? false } ?? false
    }

    mutating func add(_ procedure: OfferedProcedure) -> Int {
        lastNumber += 1
        procedures[lastNumber] = procedure
        numbers[procedure.handle] = lastNumber
        waiting.insert(lastNumber)
        return lastNumber
    }

    /// Ends a procedure for the app: its handle is no longer known.
    mutating func depart(_ number: Int) {
        guard let procedure = procedures[number] else { return }
        numbers[procedure.handle] = nil
        waiting.remove(number)
        departing[procedure.key, default: []].insert(number)
        procedures[number]?.isWanted = false
    }

    /// Removes a procedure; returns the procedures with the same URI that can be registered now, in order.
    mutating func remove(_ number: Int) -> [Int] {
        guard let procedure = procedures.removeValue(forKey: number) else { return [] }
        if let registration = procedure.registration { registrations[registration] = nil }
        departing[procedure.key]?.remove(number)
        guard departing[procedure.key]?.isEmpty == true else { return [] }
        departing[procedure.key] = nil
        return waiting.filter { procedures[$0]?.key == procedure.key }.sorted()
    }

    mutating func markRegistered(_ number: Int) {
        procedures[number]?.hasStood = true
        waiting.remove(number)
    }

    /// Changes a procedure, and updates the lookup by its registration.
    mutating func update(_ number: Int, _ change: (inout OfferedProcedure) -> Void) {
        guard var procedure = procedures[number] else { return }
        let before = procedure.registration
        change(&procedure)
        if let before, before != procedure.registration { registrations[before] = nil }
        if let registration = procedure.registration { registrations[registration] = number }
        procedures[number] = procedure
    }

    // MARK: Invocations

    /// Counts one more invocation; returns false if too many run.
    mutating func begin(_ number: Int, limit: Int) -> Bool {
        guard let running = procedures[number]?.running, running < limit else { return false }
        procedures[number]?.running = running + 1
        return true
    }

    mutating func end(_ number: Int) { procedures[number]?.running -= 1 }
}

/// A procedure that the app offers, or that is still to be unregistered.
struct OfferedProcedure: Hashable, Sendable {
    enum Flight: Hashable, Sendable {
        case register
        case unregister
    }

    let handle: ClientHandle
    let key: TopicKey
    let options: RegisterOptions
    /// Until when the procedure waits for its first session; nil: it does not wait.
    let waitsUntil: Moment?
    /// Whether the app still offers it.
    var isWanted = true
    /// The registration, while it exists on the router.
    var registration: WAMPID?
    /// The pending request; there is at most one, so that each answer is unambiguous.
    var flight: Flight?
    /// When the pending request was sent.
    var askedAt = Moment.start
    /// Whether the app was told that it is registered.
    var hasStood = false
    /// Whether an earlier session sent a REGISTER for it; that session may still exist on the router and hold the registration.
    var wasAskedBefore = false
    var standsSince = Moment.start
    /// Until when refusals of the router are tolerated; nil: there was none in this session.
    var toleratedUntil: Moment?
    /// The number of retries.
    var tries = 0
    /// Whether the next retry has to wait.
    var isPausing = false
    /// The number of running invocations.
    var running = 0
}

/// The running invocations.
struct InvocationTable: Hashable, Sendable {
    struct Invocation: Hashable, Sendable {
        let request: WAMPID
        let procedure: Int
        /// Whether the caller wants partial results.
        let wantsProgress: Bool
        /// Whether more input may come.
        var isOpen: Bool
        var isInterrupted = false
    }

    private var invocations: [ClientHandle: Invocation] = [:]
    private var handles: [WAMPID: ClientHandle] = [:]
    /// Invocations that ended while more input could come.
    private var unread: Set<WAMPID> = []
    private static let mostUnread = 1024

    subscript(handle: ClientHandle) -> Invocation? { invocations[handle] }

    func handle(of request: WAMPID) -> ClientHandle? { handles[request] }

    mutating func begin(_ invocation: Invocation, as handle: ClientHandle) {
        invocations[handle] = invocation
        handles[invocation.request] = handle
    }

    mutating func update(_ handle: ClientHandle, _ change: (inout Invocation) -> Void) {
        guard var invocation = invocations[handle] else { return }
        change(&invocation)
        invocations[handle] = invocation
    }

    mutating func end(_ handle: ClientHandle) -> Invocation? {
        guard let invocation = invocations.removeValue(forKey: handle) else { return nil }
        handles[invocation.request] = nil
        if invocation.isOpen {
            if unread.count >= Self.mostUnread, let oldest = unread.min() { unread.remove(oldest) }
            unread.insert(invocation.request)
        }
        return invocation
    }

    /// Returns whether this is late input of an ended invocation; after the last input the ID may be used again.
    mutating func isUnread(_ request: WAMPID, hasMore: Bool) -> Bool {
        guard !unread.isEmpty else { return false }
        return hasMore ? unread.contains(request) : unread.remove(request) != nil
    }

    /// Removes all invocations; returns those whose handlers do not know yet that the result is not wanted.
    mutating func takeAll() -> [ClientHandle] {
        defer { self = InvocationTable() }
        return invocations.filter { !$0.value.isInterrupted }.keys.sorted { $0.number < $1.number }
    }
}
