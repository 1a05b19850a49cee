internal import MachineCore

/// All procedures that the app offers.
struct ProcedureBook: Hashable, Sendable {
    /// By the order in which they came.
    private var procedures: [Int: OfferedProcedure] = [:]
    private var numbers: [ClientHandle: Int] = [:]
    private var registrations: [WAMPID: Int] = [:]
    /// Those that are to go, or may be there without being wanted: the next one of the same URI has to wait for them.
    private var departing: [TopicKey: Set<Int>] = [:]
    private var lastNumber = 0
    /// Procedures that were not told yet that they are registered.
    private(set) var waiting: Set<Int> = []

    var inOrder: [Int] { procedures.keys.sorted() }
    var isEmpty: Bool { procedures.isEmpty }

    subscript(number: Int) -> OfferedProcedure? { procedures[number] }

    func number(of handle: ClientHandle) -> Int? { numbers[handle] }
    func number(of registration: WAMPID) -> Int? { registrations[registration] }

    func isClear(_ key: TopicKey) -> Bool { departing[key] == nil }

    /// Whether the router has owed an answer about the URI since then, or longer.
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

    /// The app does not want it any more: its handle is forgotten.
    mutating func depart(_ number: Int) {
        guard let procedure = procedures[number] else { return }
        numbers[procedure.handle] = nil
        waiting.remove(number)
        departing[procedure.key, default: []].insert(number)
        procedures[number]?.isWanted = false
    }

    /// It is gone; which ones of the same URI may come now, in order.
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

    /// Changes a procedure; whoever finds it by its registration sees it.
    mutating func update(_ number: Int, _ change: (inout OfferedProcedure) -> Void) {
        guard var procedure = procedures[number] else { return }
        let before = procedure.registration
        change(&procedure)
        if let before, before != procedure.registration { registrations[before] = nil }
        if let registration = procedure.registration { registrations[registration] = number }
        procedures[number] = procedure
    }

    // MARK: Invocations

    /// Counts one more invocation; false if too many run.
    mutating func begin(_ number: Int, limit: Int) -> Bool {
        guard let running = procedures[number]?.running, running < limit else { return false }
        procedures[number]?.running = running + 1
        return true
    }

    mutating func end(_ number: Int) { procedures[number]?.running -= 1 }
}

/// A procedure that the app offers, or that the router still has to be told is not offered any more.
struct OfferedProcedure: Hashable, Sendable {
    enum Flight: Hashable, Sendable {
        case register
        case unregister
    }

    let handle: ClientHandle
    let key: TopicKey
    let options: RegisterOptions
    /// Until when it waits for its first session; nil: it does not.
    let waitsUntil: Moment?
    /// Whether the app still offers it.
    var isWanted = true
    /// While it stands on the router.
    var registration: WAMPID?
    /// At most one is under way, so an answer says where the procedure stands.
    var flight: Flight?
    /// Since when it is under way.
    var askedAt = Moment.start
    /// Whether the app was told once that it is registered.
    var hasStood = false
    /// Whether an earlier session asked for it: that may live on the router still, and hold the registration.
    var wasAskedBefore = false
    var standsSince = Moment.start
    /// Until when the router may refuse it; nil: it has not, in this session.
    var toleratedUntil: Moment?
    /// How often it was tried again.
    var tries = 0
    /// Whether the next try has to wait.
    var isPausing = false
    /// How many of its invocations run.
    var running = 0
}
