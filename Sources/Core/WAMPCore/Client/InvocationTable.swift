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
