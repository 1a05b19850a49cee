import CodecCore
import DequeModule
import Holdfast
import Logging
import WebSocketRuntime
import WAMPCore

/// What the log hears of messages, in words; it remembers what numbers stand for.
final class WAMPTrace: Sendable {
    private struct Key: Hashable {
        let kind: WAMPRequestKind
        let request: WAMPID
    }
    private struct Names {
        var requests: [Key: String] = [:]
        var topics: [WAMPID: String] = [:]
        var procedures: [WAMPID: String] = [:]
        /// What is no subscription or registration any more once this request is answered.
        var leaving: [Key: WAMPID] = [:]
        /// Calls that were cancelled, the oldest first: not every router answers them.
        var cancelled: Deque<WAMPID> = []
    }
    /// How many cancelled calls keep their name.
    private static let patience = 256
    /// How many names of a kind are remembered; a peer that leaves more unanswered makes the log poorer, and nothing else.
    private static let capacity = 4096
    private let logger: Logger
    private let payloadLimit: Int
    private let isOn: Bool
    private let secrets: SessionSecrets
    private let names = LockedValue(Names())

    init(_ options: WAMPOptions, hiding secrets: SessionSecrets) {
        self.secrets = secrets
        (logger, payloadLimit) = (options.logger, options.logsPayloads ? 2000 : 0)
        isOn = options.logger.logLevel <= .debug
    }

    func sent(_ message: WAMPMessage) {
        guard isOn else { return }
        let words = names.withLockedValue { names in
            let words = self.words(of: message, names)
            switch message {
            case .publish(let request, let options, let uri, _):
                // Without an acknowledgement nothing more is heard of it.
                if options["acknowledge"] == true { Self.note(.publish, request, uri, &names) }
            case .subscribe(let request, _, let uri): Self.note(.subscribe, request, uri, &names)
            case .call(let request, _, let uri, _): Self.note(.call, request, uri, &names)
            case .register(let request, _, let uri): Self.note(.register, request, uri, &names)
            case .unsubscribe(let request, let id): Self.note(.unsubscribe, request, names.topics[id] ?? "", leaving: id, &names)
            case .unregister(let request, let id): Self.note(.unregister, request, names.procedures[id] ?? "", leaving: id, &names)
            case .cancel(let request, _):
                names.cancelled.append(request)
                if names.cancelled.count > Self.patience, let oldest = names.cancelled.popFirst() {
                    names.requests[Key(kind: .call, request: oldest)] = nil
                }
            case .yield(let request, let options, _) where options["progress"] != true:
                names.requests[Key(kind: .invocation, request: request)] = nil
            case .error(.invocation, let request, _, _, _): names.requests[Key(kind: .invocation, request: request)] = nil
            case .hello: names = Names()
            default: break
            }
            return words
        }
        logger.debug("→ \(words)")
    }

    func received(_ message: WAMPMessage) {
        guard isOn else { return }
        let words = names.withLockedValue { names in
            let words = self.words(of: message, names)
            switch message {
            case .published(let request, _): names.requests[Key(kind: .publish, request: request)] = nil
            case .subscribed(let request, let id):
                if let name = names.requests.removeValue(forKey: Key(kind: .subscribe, request: request)) {
                    if names.topics.count < Self.capacity { names.topics[id] = name }
                }
            case .registered(let request, let id):
                if let name = names.requests.removeValue(forKey: Key(kind: .register, request: request)) {
                    if names.procedures.count < Self.capacity { names.procedures[id] = name }
                }
            case .unsubscribed(0, let details): if let id = Self.id(details["subscription"]) { names.topics[id] = nil }
            case .unregistered(0, let details): if let id = Self.id(details["registration"]) { names.procedures[id] = nil }
            case .unsubscribed(let request, _):
                if let id = Self.left(.unsubscribe, request, &names) { names.topics[id] = nil }
            case .unregistered(let request, _):
                if let id = Self.left(.unregister, request, &names) { names.procedures[id] = nil }
            case .result(let request, let details, _) where details["progress"] != true:
                names.requests[Key(kind: .call, request: request)] = nil
            case .error(let kind, let request, _, _, _):
                names.requests[Key(kind: kind, request: request)] = nil
                names.leaving[Key(kind: kind, request: request)] = nil
            case .invocation(let request, let id, _, _): Self.note(.invocation, request, names.procedures[id] ?? "", &names)
            default: break
            }
            return words
        }
        logger.debug("← \(words)")
    }

    func received(_ error: WAMPFormatError) { if isOn { logger.debug("← what is no message: \(secrets.hiding("\(error)"))") } }

    func unencodable(_ message: WAMPMessage, _ error: any Error) {
        logger.error("\(message.words()) could not be written, and was not sent: \(error)")
    }

    private static func note(
        _ kind: WAMPRequestKind, _ request: WAMPID, _ name: String, leaving id: WAMPID? = nil, _ names: inout Names
    ) {
        guard !name.isEmpty, names.requests.count < capacity else { return }
        names.requests[Key(kind: kind, request: request)] = name
        if let id { names.leaving[Key(kind: kind, request: request)] = id }
    }

    /// What a request has ended, now that it is answered.
    private static func left(_ kind: WAMPRequestKind, _ request: WAMPID, _ names: inout Names) -> WAMPID? {
        names.requests[Key(kind: kind, request: request)] = nil
        return names.leaving.removeValue(forKey: Key(kind: kind, request: request))
    }

    private static func id(_ value: Value?) -> WAMPID? { value?.int.flatMap { WAMPID(exactly: $0) } }

    private func words(of message: WAMPMessage, _ names: Names) -> String {
        let words = message.words(
            WAMPWording(payloadLimit: payloadLimit) {
                names.topics[$0]
            } procedure: {
                names.procedures[$0]
            } request: {
                names.requests[Key(kind: $0, request: $1)]
            })
        return secrets.hiding(words)
    }
}
