package import CodecCore
public import WebSocketCore
import WebSocketRuntime

/// The pending requests, and the rules for which of them a message answers; values only.
///
/// Each request ends once: the first outcome counts.
package struct RequestTable {
    package typealias Request = UInt64
    package typealias Outcome = Result<Message, WebSocketError>
    /// How to recognize an answer.
    package enum Pattern {
        case matching(@Sendable (Message) -> Bool)
        case correlated(RequestCorrelation, id: UInt64)
    }
    /// A request that checks every message itself.
    package struct Matcher: Sendable {
        package let request: Request
        package let matches: @Sendable (Message) -> Bool
    }
    private struct Entry {
        let link: ObjectIdentifier
        let name: Name?
        var outcome: Outcome?
    }
    private struct Name: Hashable {
        let correlation: RequestCorrelation.Identity
        let id: UInt64
    }

    private let limit: Int
    private var entries: [Request: Entry] = [:]
    private var named: [Name: Request] = [:]
    private var uses: [RequestCorrelation.Identity: Int] = [:]
    /// The matchers of the pending requests, the oldest first.
    package private(set) var matchers: [Matcher] = []
    /// The correlations of the pending requests, each once.
    package private(set) var correlations: [RequestCorrelation] = []
    /// The listeners that check every message until they are removed, independent of connections.
    package private(set) var listeners: [Matcher] = []

    package init(limit: Int) { self.limit = max(limit, 1) }

    /// Whether no message can be an answer.
    package var isEmpty: Bool { matchers.isEmpty && correlations.isEmpty && listeners.isEmpty }

    /// Adds a listener that takes any number of messages; it does not count toward the limit of requests.
    package mutating func listen(_ listener: Request, _ takes: @escaping @Sendable (Message) -> Bool) {
        listeners.append(Matcher(request: listener, matches: takes))
    }

    package mutating func stopListening(_ listener: Request) { listeners.removeAll { $0.request == listener } }

    /// Adds a request that is sent on this link; returns false if there are too many.
    package mutating func add(_ request: Request, _ pattern: Pattern, on link: ObjectIdentifier) -> Bool {
        guard entries.count < limit else { return false }
        switch pattern {
        case .matching(let matches):
            entries[request] = Entry(link: link, name: nil)
            matchers.append(Matcher(request: request, matches: matches))
        case .correlated(let correlation, let id):
            let name = Name(correlation: correlation.identity, id: id)
            entries[request] = Entry(link: link, name: name)
            named[name] = request
            uses[correlation.identity, default: 0] += 1
            if uses[correlation.identity] == 1 { correlations.append(correlation) }
        }
        return true
    }

    /// Ends the request with this id with a message; returns the request if it was still pending.
    package mutating func answer(_ id: UInt64, of correlation: RequestCorrelation, with message: Message) -> Request? {
        named[Name(correlation: correlation.identity, id: id)].flatMap { answer($0, with: message) }
    }

    /// Ends a request with a message that it takes as its answer; returns the request if it was still pending.
    package mutating func answer(_ request: Request, with message: Message) -> Request? {
        end(request, .success(message)) ? request : nil
    }

    /// Fails the requests that were sent on this link, because no answer can come any more; returns them.
    package mutating func fail(on link: ObjectIdentifier, with error: WebSocketError) -> [Request] {
        let lost = entries.filter { $0.value.link == link && $0.value.outcome == nil }.keys
        for request in lost { _ = end(request, .failure(error)) }
        return Array(lost)
    }

    /// Fails all requests, because no answer can come any more.
    package mutating func fail(with error: WebSocketError) {
        for request in entries.keys { _ = end(request, .failure(error)) }
    }

    /// Returns the outcome of a request; nil while it is pending.
    package func outcome(of request: Request) -> Outcome? { entries[request]?.outcome }

    package mutating func remove(_ request: Request) {
        stopWaiting(request)
        entries[request] = nil
    }

    private mutating func end(_ request: Request, _ outcome: Outcome) -> Bool {
        guard let entry = entries[request], entry.outcome == nil else { return false }
        stopWaiting(request)
        entries[request]?.outcome = outcome
        return true
    }

    private mutating func stopWaiting(_ request: Request) {
        guard let entry = entries[request], entry.outcome == nil else { return }
        guard let name = entry.name else { return matchers.removeAll { $0.request == request } }
        named[name] = nil
        uses[name.correlation, default: 1] -= 1
        guard uses[name.correlation] == 0 else { return }
        uses[name.correlation] = nil
        correlations.removeAll { $0.identity == name.correlation }
    }
}

/// Matches a request with its answer: both carry an id, and the correlation reads it from the answer.
///
/// The socket assigns the ids: 1, 2, 3 and so on. It uses no id twice, even on another connection.
public struct RequestCorrelation: Sendable {
    /// The identity of a correlation: correlations with the same identity read a message once for all their requests.
    package enum Identity: Hashable, Sendable {
        case key(PayloadPeek)
        case custom(UInt64)
    }
    private static let lastCustom = LockedValue(UInt64(0))

    package let identity: Identity
    package let read: @Sendable (Message) -> UInt64?

    /// Creates your own correlation; keep it, and use it for all requests of a kind.
    ///
    /// - Parameter idOfAnswer: Returns the id of the request that a message answers; nil if it answers none. It is called for each message
    ///   while a request is pending, so it should reject other messages quickly.
    public init(_ idOfAnswer: @escaping @Sendable (Message) -> UInt64?) {
        let number = Self.lastCustom.withLockedValue { last in
            last += 1
            return last
        }
        (identity, read) = (.custom(number), idOfAnswer)
    }

    private init(_ peek: PayloadPeek) {
        identity = .key(peek)
        read = { message in message.withBytes { peek.id(in: $0.bytes) } }
    }

    /// Reads the id under the key `id`, in the format that the codec's name says; in JSON if Holdfast cannot peek into that format.
    static func standard(for codec: any MessageCodec) -> RequestCorrelation {
        RequestCorrelation(PayloadPeek(PayloadPeek.Format(named: codec.name) ?? .json, "id"))
    }

    /// Reads the id from JSON objects, as a number or a string of digits under this key.
    ///
    /// It reads nothing after the id.
    public static func json(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.json, key)) }

    /// Reads the id from MessagePack maps; otherwise as ``json(key:)``.
    public static func messagePack(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.messagePack, key)) }

    /// Reads the id from CBOR maps; otherwise as ``json(key:)``.
    public static func cbor(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.cbor, key)) }
}

extension PayloadPeek {
    /// Returns the id: a number in any encoding, or the digits of a string.
    fileprivate func id(in payload: RawSpan) -> UInt64? {
        switch value(in: payload) {
        case .integer(let number): UInt64(exactly: number)
        case .unsigned(let number): number
        case .float(let number): UInt64(exactly: number)
        case .text(let digits): UInt64(digits)
        default: nil
        }
    }
}
