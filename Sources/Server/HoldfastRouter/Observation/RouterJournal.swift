import Logging
import WAMPCore

/// What a router tells its log: who comes and goes, and if wanted each message, in words.
struct RouterJournal: Sendable {
    /// A request, and whose it is.
    private struct Request: Hashable {
        let connection: RouterConnection
        let id: WAMPID
    }
    /// Names of so many requests, topics and procedures are remembered for the log; then none, and those that come.
    private static let mostNames = 10_000

    private let logger: Logger
    /// Looking at each message costs more than carrying it.
    private let isTracing: Bool
    private var asked: [Request: String] = [:]
    /// What subscriptions and registrations are called.
    private var names: [WAMPID: String] = [:]

    init(_ logger: Logger) { (self.logger, isTracing) = (logger, logger.logLevel <= .trace) }

    mutating func received(_ message: WAMPMessage, from connection: RouterConnection) {
        guard isTracing else { return }
        switch message {
        case .subscribe(let id, _, let uri), .register(let id, _, let uri), .call(let id, _, let uri, _):
            if asked.count >= Self.mostNames { asked = [:] }
            asked[Request(connection: connection, id: id)] = RouterNews.shown(uri)
        default: break
        }
        logger.trace("\(connection.label) ← \(words(message, connection))")
    }

    mutating func sent(_ message: WAMPMessage, to connection: RouterConnection) {
        guard isTracing else { return }
        switch message {
        case .subscribed(let id, let number), .registered(let id, let number):
            if names.count >= Self.mostNames { names = [:] }
            names[number] = asked[Request(connection: connection, id: id)]
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
                    // Invocations are numbered by the router.
                    guard let connection, kind != .invocation else { return nil }
                    return asked[Request(connection: connection, id: id)]
                }))
    }
}

extension RouterConnection {
    /// What it is called in logs.
    var label: String { "client \(port).\(slot)" }
}
