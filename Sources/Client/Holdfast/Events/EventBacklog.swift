import DequeModule

/// What happened and nobody has taken yet: the news, and the connections that are to be read between them.
///
/// The owner bounds the connections; the news after each is bounded here, so that whoever stays away costs nothing.
struct EventBacklog {
    typealias Source = LiveSession.Source
    /// Of the news after a connection at most so many are kept; older ones become one `missed`.
    static let newsLimit = 64

    private var sources: Deque<Source> = []

    var first: Source? { sources.first }
    var connectionCount: Int { sources.count { $0.event == nil } }

    @discardableResult mutating func removeFirst() -> Source { sources.removeFirst() }

    mutating func add(_ opening: Opening) {
        sources += [.event(.opened(opening)), .connection(opening.connection)]
    }

    mutating func add(_ event: WebSocketEvent) {
        if event.isReconnecting { dropEarlierFailures() }
        sources.append(.event(event))
        let start = newsStart
        guard sources.count - start > Self.newsLimit else { return }
        let missed = (sources[start].event?.weight ?? 0) + (sources[start + 1].event?.weight ?? 0)
        sources.replaceSubrange(start..<start + 2, with: CollectionOfOne(.event(.missed(missed))))
    }

    /// Of attempts that failed in a row only the news of the last is kept.
    private mutating func dropEarlierFailures() {
        let start = newsStart
        guard let last = sources[start...].lastIndex(where: { $0.event?.isReconnecting ?? false }) else { return }
        let kept = sources[start...last].filter { !($0.event?.isOfAttempt ?? false) }
        sources.replaceSubrange(start...last, with: kept)
    }

    private var newsStart: Int { (sources.lastIndex { $0.event == nil } ?? -1) + 1 }
}

extension LiveSession.Source {
    fileprivate var event: WebSocketEvent? { if case .event(let event) = self { event } else { nil } }
}

extension WebSocketEvent {
    fileprivate var isReconnecting: Bool { if case .reconnecting = self { true } else { false } }
    fileprivate var isOfAttempt: Bool {
        switch self {
        case .reconnecting, .state: true
        default: false
        }
    }
    /// How many events it stands for.
    fileprivate var weight: Int { if case .missed(let count) = self { count } else { 1 } }
}
