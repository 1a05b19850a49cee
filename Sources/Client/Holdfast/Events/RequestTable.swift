package import CodecCore
public import WebSocketCore
import WebSocketRuntime

/// The requests that wait for their answers, and whose answer a message is; values only.
///
/// Each ends once: what becomes of it first counts.
package struct RequestTable {
    package typealias Request = UInt64
    package typealias Outcome = Result<Message, WebSocketError>
    /// How an answer looks.
    package enum Pattern {
        case matching(@Sendable (Message) -> Bool)
        case correlated(RequestCorrelation, id: UInt64)
    }
    /// A request that looks at every message itself.
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
    /// Those that wait, the oldest first.
    package private(set) var matchers: [Matcher] = []
    /// How those that wait read the ids of answers, each once.
    package private(set) var correlations: [RequestCorrelation] = []
    /// Those that look at every message for as long as they are there, whatever becomes of connections.
    package private(set) var listeners: [Matcher] = []

    package init(limit: Int) { self.limit = max(limit, 1) }

    /// Whether no message is anybody's answer.
    package var isEmpty: Bool { matchers.isEmpty && correlations.isEmpty && listeners.isEmpty }

    /// Adds one that takes any number of messages; it is none of the requests that have a limit.
    package mutating func listen(_ listener: Request, _ takes: @escaping @Sendable (Message) -> Bool) {
        listeners.append(Matcher(request: listener, matches: takes))
    }

    package mutating func stopListening(_ listener: Request) { listeners.removeAll { $0.request == listener } }

    /// Adds a request that is sent on this link; false if there are too many.
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

    /// A message with this id has come: the request whose answer it is, if that still waits.
    package mutating func answer(_ id: UInt64, of correlation: RequestCorrelation, with message: Message) -> Request? {
        named[Name(correlation: correlation.identity, id: id)].flatMap { answer($0, with: message) }
    }

    /// A message that a request takes for its answer has come: that request, if it still waits.
    package mutating func answer(_ request: Request, with message: Message) -> Request? {
        end(request, .success(message)) ? request : nil
    }

    /// The answers to what was sent on this link can come no more; returns whose.
    package mutating func fail(on link: ObjectIdentifier, with error: WebSocketError) -> [Request] {
        let lost = entries.filter { $0.value.link == link && $0.value.outcome == nil }.keys
        for request in lost { _ = end(request, .failure(error)) }
        return Array(lost)
    }

    /// No answer can come any more.
    package mutating func fail(with error: WebSocketError) {
        for request in entries.keys { _ = end(request, .failure(error)) }
    }

    /// What became of a request; nil while it waits.
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

/// How a request and its answer are known to belong together: both carry an id, and this reads it from the answer.
///
/// The socket gives the ids: 1, 2, 3 and so on, none twice, whatever the connection.
public struct RequestCorrelation: Sendable {
    /// Correlations of one identity read a message once for all their requests.
    package enum Identity: Hashable, Sendable {
        case key(PayloadPeek)
        case custom(UInt64)
    }
    private static let lastCustom = LockedValue(UInt64(0))

    package let identity: Identity
    package let read: @Sendable (Message) -> UInt64?

    /// A correlation of your own; keep it, and use it for all requests of a kind.
    ///
    /// - Parameter idOfAnswer: Reads the id of the request that a message answers; nil if it answers none. Called for each message while a
    ///   request waits, so it should say no quickly.
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

    /// Answers have the id under the key `id`, in the format that a codec's name says; in JSON if nobody here can look into it.
    static func standard(for codec: any MessageCodec) -> RequestCorrelation {
        RequestCorrelation(PayloadPeek(PayloadPeek.Format(named: codec.name) ?? .json, "id"))
    }

    /// Answers are JSON objects with the id as a number, or as a string of digits, under this key.
    ///
    /// Nothing behind the id is looked at.
    public static func json(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.json, key)) }

    /// Answers are maps of MessagePack; otherwise as ``json(key:)``.
    public static func messagePack(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.messagePack, key)) }

    /// Answers are maps of CBOR; otherwise as ``json(key:)``.
    public static func cbor(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.cbor, key)) }
}

extension PayloadPeek {
    /// A number, however it is written, or the digits of a string.
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
