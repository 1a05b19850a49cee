public import MachineCore

/// Requests that each wait for one answer, across reconnects.
///
/// A request ends exactly once: through ``end(_:where:)``, ``overdue(at:)`` or ``endAll()``. Until then it is sent again on each new
/// connection, in the order in which the requests were added. The window limits how many are sent at once.
///
/// ```swift
/// while let post = posts.next(within: 64) { effects.append(.send(.post(id: post.id, post.request))) }
/// ```
///
/// If the peer would carry out a repeated request twice, call ``lose(unsent:)`` and ``endAll()`` when the connection is lost, and report
/// for each request whether it may have arrived. If the protocol sends each request at once, add requests as sent and do not call
/// ``next(within:)``.
public struct PendingRequests<ID: Hashable & Sendable, Request: Sendable>: Sendable {
    /// A request and its sending state.
    public struct Pending: Sendable {
        /// The id that the peer uses in its answer.
        public let id: ID
        /// The request.
        public var request: Request
        /// The moment at which it ends without an answer; nil for never.
        public let due: Moment?
        /// Whether the peer may have received it: it was sent, and the connection did not report it as unsent.
        @inlinable public var mayHaveArrived: Bool { isSent || wasSent }
        /// Whether it was sent on the present connection.
        @inlinable public var isSentNow: Bool { isSent }
        @usableFromInline let order: UInt64
        /// Sent on the present connection.
        @usableFromInline var isSent: Bool
        /// Sent on an earlier connection.
        @usableFromInline var wasSent = false

        @inlinable init(_ id: ID, _ request: Request, _ due: Moment?, order: UInt64, isSent: Bool) {
            (self.id, self.request, self.due, self.order, self.isSent) = (id, request, due, order, isSent)
        }
    }
    @usableFromInline var pending: [ID: Pending] = [:]
    @usableFromInline var alarms = Alarms<ID>()
    /// The ids to send on this connection in reverse order, and those added since.
    ///
    /// Ids of ended requests may remain in both.
    @usableFromInline var (unsent, added): ([ID], [ID]) = ([], [])
    @usableFromInline var sentCount = 0
    @usableFromInline var lastOrder: UInt64 = 0
    @usableFromInline let limit: Int

    /// Creates an empty collection.
    ///
    /// - Parameter limit: How many requests may be pending at once.
    @inlinable public init(limit: Int = 4096) { self.limit = limit }

    /// The number of requests that wait for an answer or to be sent.
    @inlinable public var count: Int { pending.count }
    /// Whether no more requests can be added.
    @inlinable public var isFull: Bool { pending.count >= limit }
    /// The moment at which the next request is ``overdue(at:)``; nil if no request has a deadline.
    @inlinable public var deadline: Moment? { alarms.next }
    /// The request with this id; nil if it has ended.
    @inlinable public subscript(id: ID) -> Request? { pending[id]?.request }
    /// All pending requests, in the order in which they were added.
    public var all: [Pending] { pending.values.sorted { $0.order < $1.order } }

    /// The number of ids that wait to be sent, including ids of ended requests.
    @inlinable package var queuedIDs: Int { unsent.count + added.count }

    /// Adds a request; returns false if the limit is reached or a request with this id is pending.
    ///
    /// - Parameters:
    ///   - due: The moment at which it ends without an answer; nil for never.
    ///   - isSent: Whether the caller sends it now, ahead of the waiting ones. It counts towards the window.
    @inlinable public mutating func add(_ id: ID, _ request: Request, due: Moment? = nil, isSent: Bool = false) -> Bool {
        guard !isFull, pending[id] == nil else { return false }
        lastOrder += 1
        pending[id] = Pending(id, request, due, order: lastOrder, isSent: isSent)
        if isSent { sentCount += 1 } else { added.append(id) }
        if let due { alarms.set(id, at: due) }
        return true
    }

    /// Changes a pending request.
    ///
    /// Does nothing if it has ended.
    @inlinable public mutating func update(_ id: ID, _ change: (inout Request) -> Void) {
        if let place = pending.index(forKey: id) { change(&pending.values[place].request) }
    }

    /// Marks the next request as sent and returns it; nil if none is left or the window is full.
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

    /// Notes that the connection is gone: all requests are sent again on the next one.
    ///
    /// - Parameter ids: The requests that the connection never took, as `ProtocolInput.lost` reports them.
    public mutating func lose(unsent ids: some Sequence<ID>) {
        for id in ids { pending[id]?.isSent = false }
        let all = all
        for var request in all where request.isSent {
            (request.isSent, request.wasSent) = (false, true)
            pending[request.id] = request
        }
        (unsent, added, sentCount) = (all.reversed().map({ $0.id }), [], 0)
    }

    /// Ends a request that was answered or cancelled, and returns it; nil if no request with this id is pending.
    ///
    /// - Parameter matches: Whether the answer fits this request. If not, the request stays pending and nil is returned.
    @inlinable public mutating func end(_ id: ID, where matches: (Request) -> Bool = { _ in true }) -> Pending? {
        guard let request = pending.removeValue(forKey: id) else { return nil }
        guard matches(request.request) else {
            pending[id] = request
            return nil
        }
        if request.due != nil { alarms.cancel(id) }
        if request.isSent { sentCount -= 1 }
        // Requests that end before they are sent leave their ids in the lists.
        if queuedIDs > 2 * pending.count + 32 {
            unsent.removeAll { pending[$0]?.isSent != false }
            added.removeAll { pending[$0]?.isSent != false }
        }
        return request
    }

    /// Ends and returns a request whose deadline has passed; nil if there is none.
    public mutating func overdue(at now: Moment) -> Pending? { alarms.due(at: now).flatMap { end($0) } }

    /// Ends all requests and returns them in the order in which they were added.
    public mutating func endAll() -> [Pending] {
        let all = all
        (pending, alarms, unsent, added, sentCount) = ([:], Alarms(), [], [], 0)
        return all
    }
}

extension PendingRequests.Pending: Equatable where Request: Equatable {}
extension PendingRequests.Pending: Hashable where Request: Hashable {}

/// Compares the pending requests and their order. Ended requests do not matter.
extension PendingRequests: Equatable where Request: Equatable {
    /// Returns whether both hold the same pending requests in the same order.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.count == rhs.count && lhs.limit == rhs.limit && zip(lhs.all, rhs.all).allSatisfy { $0.isSame(as: $1) }
    }
}
extension PendingRequests: Hashable where Request: Hashable {
    /// Hashes the pending requests.
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
