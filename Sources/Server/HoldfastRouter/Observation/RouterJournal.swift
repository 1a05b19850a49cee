import CodecCore
import DequeModule
import Logging
import WAMPCore

/// What a router tells its log: who comes and goes, and if wanted each message, in words.
struct RouterJournal: Sendable {
    /// A request, and whose it is.
    private struct Request: Hashable {
        let connection: RouterConnection
        let id: WAMPID
    }
    /// The last names that were noted.
    private struct Names<Key: Hashable & Sendable>: Sendable {
        private var names: [Key: String] = [:]
        private var order: Deque<Key> = []

        subscript(key: Key) -> String? { names[key] }

        mutating func note(_ name: String?, for key: Key) {
            guard let name else { return }
            if names.updateValue(name, forKey: key) == nil { order.append(key) }
            if order.count > 10_000 { names[order.removeFirst()] = nil }
        }
    }

    private let logger: Logger
    /// Looking at each message costs more than carrying it.
    private let isTracing: Bool
    /// What requests of clients are about.
    private var asked = Names<Request>()
    /// What is invoked, for invocations are numbered by the router.
    private var invoked = Names<Request>()
    /// What subscriptions and registrations are called.
    private var names = Names<WAMPID>()

    init(_ logger: Logger) { (self.logger, isTracing) = (logger, logger.logLevel <= .trace) }

    mutating func received(_ message: WAMPMessage, from connection: RouterConnection) {
        guard isTracing else { return }
        switch message {
        case .subscribe(let id, _, let uri), .register(let id, _, let uri), .call(let id, _, let uri, _), .publish(let id, _, let uri, _):
            asked.note(shown(uri), for: Request(connection: connection, id: id))
        case .unsubscribe(let id, let number), .unregister(let id, let number):
            asked.note(names[number], for: Request(connection: connection, id: id))
        default: break
        }
        logger.trace("\(connection.label) ← \(words(message, connection))")
    }

    mutating func sent(_ message: WAMPMessage, to connection: RouterConnection) {
        guard isTracing else { return }
        switch message {
        case .subscribed(let id, let number), .registered(let id, let number):
            names.note(asked[Request(connection: connection, id: id)], for: number)
        case .invocation(let id, let number, let details, _):
            // A pattern says little.
            let name = details["procedure"]?.string.map(shown) ?? names[number]
            invoked.note(name, for: Request(connection: connection, id: id))
        default: break
        }
        logger.trace("\(connection.label) → \(words(message, connection))")
    }

    func sent(_ message: WAMPMessage, to members: [RouterConnection]) {
        if isTracing { logger.trace("\(members.count) clients → \(words(message, nil))") }
    }

    func note(_ news: RouterNews) {
        switch news {
        case .joined(let session, let realm, let authID, let authRole):
            logger.info("session \(session) joined \(shown(realm)) as \(shown(authID)) (\(shown(authRole)))")
        case .left(let session, let realm, let reason):
            logger.info("session \(session) left \(shown(realm)): \(reason.map(shown) ?? "its connection was lost")")
        case .refused(let connection, let reason): logger.notice("\(connection.label) was not let in: \(shown(reason))")
        case .violation(let connection, let how): logger.notice("\(connection.label) broke the protocol: \(how)")
        case .overrun(let session, let realm):
            logger.notice("session \(session) of \(shown(realm)) was cut off: too much waited for it")
        case .stopped: logger.info("stopped")
        }
    }

    private func shown(_ text: String) -> String { RouterNews.shown(text) }

    private func words(_ message: WAMPMessage, _ connection: RouterConnection?) -> String {
        message.words(
            WAMPWording(
                topic: { names[$0] }, procedure: { names[$0] },
                request: { kind, id in
                    guard let connection else { return nil }
                    let request = Request(connection: connection, id: id)
                    return kind == .invocation ? invoked[request] : asked[request]
                }))
    }
}

extension RouterConnection {
    /// What it is called in logs.
    var label: String { "client \(port).\(slot)" }
}
