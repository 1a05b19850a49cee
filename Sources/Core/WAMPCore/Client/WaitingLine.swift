internal import MachineCore

/// Calls and publications that wait for the session, in the order in which they came.
struct WaitingLine: Hashable, Sendable {
    enum Errand: Hashable, Sendable {
        case call(procedure: String, WAMPArguments, CallOptions, due: Moment?, parts: [CallPart]?)
        case publish(topic: String, WAMPArguments, PublishOptions, due: Moment)
    }

    private var errands: [ClientHandle: Errand] = [:]
    /// With gaps where some have gone.
    private var order: [ClientHandle] = []

    var count: Int { errands.count }

    func contains(_ handle: ClientHandle) -> Bool { errands[handle] != nil }

    mutating func append(_ errand: Errand, of handle: ClientHandle) {
        errands[handle] = errand
        order.append(handle)
    }

    mutating func remove(_ handle: ClientHandle) -> Bool {
        guard errands.removeValue(forKey: handle) != nil else { return false }
        if order.count > 2 * errands.count + 32 { order.removeAll { errands[$0] == nil } }
        return true
    }

    /// Adds a part to a call's input; false if it waits for none, or has as many already.
    mutating func add(_ part: CallPart, to handle: ClientHandle, limit: Int) -> Bool {
        guard case .call(let procedure, let arguments, let options, let due, var parts?) = errands[handle], parts.last?.isLast != true
        else {
            return true
        }
        guard parts.count < limit else { return false }
        parts.append(part)
        errands[handle] = .call(procedure: procedure, arguments, options, due: due, parts: parts)
        return true
    }

    /// Everything, in order; afterwards nothing waits.
    mutating func takeAll() -> [(handle: ClientHandle, errand: Errand)] {
        defer { self = WaitingLine() }
        return order.compactMap { handle in errands[handle].map { (handle, $0) } }
    }
}
