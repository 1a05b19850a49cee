import Logging
import WAMPCore

/// The router's log: sessions that join and leave, and optionally every message.
struct RouterJournal: Sendable {
    private let logger: Logger
    /// Whether messages are logged.
    ///
    /// Formatting a message costs more than routing it.
    private let isTracing: Bool
    /// The meaning of the ids in each client's messages, learned from them; kept from its HELLO until it is gone.
    private var names: [RouterConnection: MessageNames] = [:]

    init(_ logger: Logger) { (self.logger, isTracing) = (logger, logger.logLevel <= .trace) }

    mutating func received(_ message: WAMPMessage, from connection: RouterConnection) {
        guard isTracing else { return }
        logger.trace("\(connection.label) ← \(words(message, connection))")
        if case .hello = message { names[connection] = MessageNames() }
        names[connection]?.noteSent(message)
    }

    mutating func sent(_ message: WAMPMessage, to connection: RouterConnection) {
        guard isTracing else { return }
        logger.trace("\(connection.label) → \(words(message, connection))")
        names[connection]?.noteReceived(message)
    }

    func sent(_ message: WAMPMessage, to members: [RouterConnection]) {
        if isTracing, let first = members.first { logger.trace("\(members.count) clients → \(words(message, first))") }
    }

    /// Notes that a client is gone.
    mutating func forget(_ connection: RouterConnection) { names[connection] = nil }

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

    private func words(_ message: WAMPMessage, _ connection: RouterConnection) -> String {
        message.words(names[connection]?.wording(payloadLimit: 0) ?? WAMPWording())
    }
}

extension RouterConnection {
    /// The name in logs.
    var label: String { "client \(port).\(slot)" }
}
