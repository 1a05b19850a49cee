public import MachineCore

/// Requests that wait for one answer each, over connections that come and go.
///
/// A request that was added ends once: by ``end(_:where:)``, ``overdue(at:)`` or ``endAll()``. Until then it is sent anew on each
/// connection, in the order in which the requests were added, and no more of them at once than the window allows.
///
/// ```swift
/// while let post = posts.next(within: 64) { effects.append(.send(.post(id: post.id, post.request))) }
/// ```
/// A protocol whose peer would do it twice calls ``lose(unsent:)`` and ``endAll()`` when the connection is lost, and tells of each whether it may have arrived.
/// If it sends each request at once, it adds them as sent, and never asks for the next one.
public struct PendingRequests<ID: Hashable & Sendable, Request: Sendable>: Sendable {
    /// A request, and what is known of its way.
    public struct Pending: Sendable {
        /// The id under which the peer answers.
        public let id: ID
        /// What is asked.
        public var request: Request
        /// When it ends without an answer; nil: never.
        public let due: Moment?
        /// Whether the peer may have it: it was sent, and the connection has not said that it never took it.
        @inlinable public var mayHaveArrived: Bool { isSent || wasSent }
        @usableFromInline let order: UInt64
        /// On the present connection.
        @usableFromInline var isSent: Bool
        /// On an earlier one.
        @usableFromInline var wasSent = false

        @inlinable init(_ id: ID, _ request: Request, _ due: Moment?, order: UInt64, isSent: Bool) {
            (self.id, self.request, self.due, self.order, self.isSent) = (id, request, due, order, isSent)
        }
    }
    @usableFromInline var pending: [ID: Pending] = [:]
    @usableFromInline var alarms = Alarms<ID>()
    /// What is to be sent on this connection, the last one first, and what has come since; with ids of some that have ended.
    @usableFromInline var (unsent, added): ([ID], [ID]) = ([], [])
    @usableFromInline var sentCount = 0
    @usableFromInline var lastOrder: UInt64 = 0
    @usableFromInline let limit: Int

    /// No request.
    ///
    /// - Parameter limit: How many may wait at once.
    @inlinable public init(limit: Int = 4096) { self.limit = limit }

    /// How many wait for an answer, or to be sent.
    @inlinable public var count: Int { pending.count }
    /// Whether no more can be added.
    @inlinable public var isFull: Bool { pending.count >= limit }
    /// When the next one is ``overdue(at:)``; nil if none ever is.
    @inlinable public var deadline: Moment? { alarms.next }
    /// The request of this id; nil if it has ended.
    @inlinable public subscript(id: ID) -> Request? { pending[id]?.request }
    /// All of them, in the order in which they were added.
    public var all: [Pending] { pending.values.sorted { $0.order < $1.order } }

    /// How many ids wait to be sent, with those of requests that have ended.
    @inlinable package var queuedIDs: Int { unsent.count + added.count }

    /// Adds a request; false if as many wait as may, or one of this id does.
    ///
    /// - Parameters:
    ///   - due: When it ends without an answer; nil: never.
    ///   - isSent: Whether it is sent now, ahead of those that wait; the window counts it.
    @inlinable public mutating func add(_ id: ID, _ request: Request, due: Moment? = nil, isSent: Bool = false) -> Bool {
        guard !isFull, pending[id] == nil else { return false }
        lastOrder += 1
        pending[id] = Pending(id, request, due, order: lastOrder, isSent: isSent)
        if isSent { sentCount += 1 } else { added.append(id) }
        if let due { alarms.set(id, at: due) }
        return true
    }

    /// Changes what is known of a request; without effect if it has ended.
    @inlinable public mutating func update(_ id: ID, _ change: (inout Request) -> Void) {
        if let place = pending.index(forKey: id) { change(&pending.values[place].request) }
    }

    /// The next one to send on this connection, which counts as sent; nil if none is left, or as many are on their way as the window allows.
    public mutating func next(within window: Int = .max) -> Pending? {
        while sentCount < window {
            if unsent.isEmpty { (unsent, added) = (added.reversed(), []) }
            guard let id = unsent.popLast() else { return nil }
            guard pending[id]?.isSent == false else { continue }
            pending[id]?.isSent = true
            sentCount += 1
            return pending[id]
        }
        return nil
    }

    /// The connection is gone: all are to be sent anew on the next one.
    ///
    /// - Parameter ids: Those of which the connection never took anything, as `ProtocolInput.lost` tells.
    public mutating func lose(unsent ids: some Sequence<ID>) {
        for id in ids { pending[id]?.isSent = false }
        let all = all
        for var request in all where request.isSent {
            (request.isSent, request.wasSent) = (false, true)
            pending[request.id] = request
        }
        (unsent, added, sentCount) = (all.reversed().map(\.id), [], 0)
    }

    /// Ends a request, which was answered, or is wanted no more; nil if there is none of this id.
    ///
    /// - Parameter matches: Whether the answer is one to this request; if not, it waits on, and nil is returned.
    @inlinable public mutating func end(_ id: ID, where matches: (Request) -> Bool = { _ in true }) -> Pending? {
        guard let request = pending.removeValue(forKey: id) else { return nil }
        guard matches(request.request) else {
            pending[id] = request
            return nil
        }
        if request.due != nil { alarms.cancel(id) }
        if request.isSent { sentCount -= 1 }
        // What ends before it is sent leaves its id there.
        if queuedIDs > 2 * pending.count + 32 {
            unsent.removeAll { pending[$0]?.isSent != false }
            added.removeAll { pending[$0]?.isSent != false }
        }
        return request
    }

    /// Ends a request that has got no answer in time; nil if there is none.
    public mutating func overdue(at now: Moment) -> Pending? { alarms.due(at: now).flatMap { end($0) } }

    /// Ends all of them, in the order in which they were added.
    public mutating func endAll() -> [Pending] {
        let all = all
        (pending, alarms, unsent, added, sentCount) = ([:], Alarms(), [], [], 0)
        return all
    }
}

extension PendingRequests.Pending: Equatable where Request: Equatable {}
extension PendingRequests.Pending: Hashable where Request: Hashable {}

/// Two are the same if the same waits in the same order, whatever has ended before.
extension PendingRequests: Equatable where Request: Equatable {
    /// Whether the same waits in both, in the same order.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.count == rhs.count && lhs.limit == rhs.limit && zip(lhs.all, rhs.all).allSatisfy { $0.isSame(as: $1) }
    }
}
extension PendingRequests: Hashable where Request: Hashable {
    /// Hashes what waits.
    public func hash(into hasher: inout Hasher) {
        for request in all {
            hasher.combine(request.id)
            hasher.combine(request.request)
            hasher.combine(request.isSent)
        }
    }
}

extension PendingRequests.Pending where Request: Equatable {
    fileprivate func isSame(as other: Self) -> Bool {
        (id, request, due) == (other.id, other.request, other.due) && (isSent, wasSent) == (other.isSent, other.wasSent)
    }
}
