import MachineCore
import SessionCore

/// A send queue with a plain list of the pending messages.
///
/// It records the first invariant that did not hold.
struct AuditedQueue: Machine, Hashable {
    struct Send: Hashable {
        let id: UInt64
        let lane: Lane
        let byteCount: Int
        let submittedAt: Moment
        let due: Moment?
        var isWithdrawn = false
    }
    enum Link: Hashable { case none(since: Moment), open, full, over }

    private(set) var machine: SendQueue
    private let policy: SendPolicy
    /// The pending messages in the order of submission.
    private(set) var live: [Send] = []
    private(set) var handedOver: UInt64?
    private(set) var link = Link.none(since: .start)
    private(set) var dropped: UInt64 = 0
    private(set) var fault: String?
    var deadline: Moment? { machine.deadline }

    init(_ policy: SendPolicy) { (machine, self.policy) = (SendQueue(policy: policy), policy) }

    mutating func handle(_ input: SendQueue.Input, at now: Moment, into effects: inout [SendQueue.Effect]) {
        let first = effects.count
        machine.handle(input, at: now, into: &effects)
        let overdue = effects[first...].prefix { isOverdue($0, at: now) }
        for effect in overdue { end(effect) }
        let submitted = note(input, at: now)
        for effect in effects[overdue.endIndex...] { judge(effect, submitted, at: now) }
        check(at: now)
    }
    mutating func wake(at now: Moment, into effects: inout [SendQueue.Effect]) {
        let first = effects.count
        machine.wake(at: now, into: &effects)
        for effect in effects[first...] {
            if case .recall(handedOver) = effect { continue }
            expect(isOverdue(effect, at: now), "time alone refuses only overdue messages")
            end(effect)
        }
        check(at: now)
    }

    /// Updates the list.
    ///
    /// Returns the submitted message, if any.
    private mutating func note(_ input: SendQueue.Input, at now: Moment) -> Send? {
        switch (input, link) {
        case (.submit(let id, let lane, let byteCount, let patience), _):
            guard !live.contains(where: { $0.id == id }) else { return nil }
            live.append(Send(id: id, lane: lane, byteCount: byteCount, submittedAt: now, due: patience.map { now + $0 }))
            return live.last
        case (.withdraw(let id), _):
            if let index = live.firstIndex(where: { $0.id == id }) { live[index].isWithdrawn = true }
        case (.opened, .none): link = .open
        case (.room, .full): link = .open
        case (.taken(handedOver), _):
            live.removeAll { $0.id == handedOver }
            handedOver = nil
        case (.blocked(handedOver), _):
            handedOver = nil
            if link == .open { link = .full }
        case (.lost, _):
            if link == .open || link == .full { link = .none(since: now) }
            handedOver = nil
        case (.close, _): link = .over
        default: break
        }
        return nil
    }

    private mutating func judge(_ effect: SendQueue.Effect, _ submitted: Send?, at now: Moment) {
        switch effect {
        case .transmit(let id):
            expect(link == .open, "a message is handed only to a connection that accepts")
            expect(handedOver == nil, "one message at a time")
            let waiting = live.filter { $0.lane == live.map(\.lane).max() }
            expect(waiting.first?.id == id, "the oldest of the highest lane goes first")
            handedOver = id
        case .recall(let id): expect(id == handedOver && isRefusedIfNotTaken, "only a message that would not wait again is recalled")
        case .refused(let id, let reason):
            expect(id != handedOver, "a handed-over message ends by the connection's answer")
            let send = live.first { $0.id == id }
            let isBounded = policy.whileDisconnected == .queue
            switch reason {
            case .overflow: expect(isBounded && id == submitted?.id, "only the submitted message overflows")
            case .dropped: expect(isBounded && send.map { $0.lane <= submitted?.lane ?? .bulk } ?? false, "no higher lane is dropped")
            case .tooLarge:
                let alone = SendVolume(count: 1, bytes: send?.byteCount ?? 0)
                expect(isBounded && !alone.fits(in: policy.capacity), "only a message above the capacity is too large")
            case .timedOut: expect(send.flatMap(due) ?? .distantFuture <= now, "no message times out early")
            case .disconnected: expect(isDisconnected && policy.whileDisconnected == .fail, "this policy fails without a connection")
            case .withdrawn: expect(send?.isWithdrawn ?? false, "the message was withdrawn")
            case .closed: expect(link == .over, "the queue is closed")
            }
            if reason == .overflow || reason == .dropped { dropped += 1 }
            end(effect)
        }
    }

    private mutating func end(_ effect: SendQueue.Effect) {
        guard case .refused(let id, _) = effect else { return }
        expect(live.contains { $0.id == id }, "a message ends once")
        live.removeAll { $0.id == id }
    }

    private mutating func check(at now: Moment) {
        let willWait = live.filter { $0.id != handedOver || !isRefusedIfNotTaken }
        expect(machine.depth == SendVolume(count: willWait.count, bytes: willWait.reduce(0) { $0 + $1.byteCount }), "depth")
        expect(machine.dropped == dropped, "dropped messages are counted")
        if policy.whileDisconnected == .queue { expect(machine.depth.fits(in: policy.capacity), "the capacity is respected") }
        if link == .open { expect(handedOver != nil || live.isEmpty, "no message waits for an idle connection") }
        if link == .over { expect(live.allSatisfy { $0.id == handedOver }, "no message stays after the close") }
        if isDisconnected && policy.whileDisconnected == .fail { expect(live.isEmpty, "no message waits for a connection") }
        expect(machine.passesThrough == (link == .open && live.isEmpty), "a message may pass through only if no other is pending")
        let waiting = live.filter { $0.id != handedOver || !isRefusedIfNotTaken }
        expect(machine.deadline == waiting.compactMap(due).min(), "the deadline is the earliest of the messages")
        expect(!waiting.contains { due($0).map { $0 <= now } ?? false }, "no overdue message waits")
    }

    private var isDisconnected: Bool { if case .none = link { true } else { false } }
    /// Whether the handed-over message is refused if it is not taken.
    private var isRefusedIfNotTaken: Bool {
        switch machine.phase {
        case .sending(_, otherwise: let otherwise): otherwise != nil
        case .closing: true
        default: false
        }
    }
    private func due(_ send: Send) -> Moment? {
        guard case .none(let since) = link, case .wait(let limit) = policy.whileDisconnected else { return send.due }
        return send.due ?? max(since, send.submittedAt) + limit
    }
    /// Whether the effect ends a message that was already overdue.
    private func isOverdue(_ effect: SendQueue.Effect, at now: Moment) -> Bool {
        if case .recall(handedOver) = effect { return true }
        guard case .refused(let id, .timedOut) = effect, id != handedOver else { return false }
        return live.first { $0.id == id }.flatMap(due) ?? .distantFuture <= now
    }
    private mutating func expect(_ isTrue: Bool, _ invariant: String) { if !isTrue { fault = fault ?? invariant } }
}
