import Holdfast
import Logging
import NIOConcurrencyHelpers
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
    }
    /// How many names are remembered; a peer that leaves more unanswered makes the log poorer, and nothing else.
    private static let capacity = 4096
    private let logger: Logger
    private let payloadLimit: Int
    private let isOn: Bool
    private let names = NIOLockedValueBox(Names())

    init(_ options: WAMPOptions) {
        (logger, payloadLimit) = (options.logger, options.logsPayloads ? 2000 : 0)
        isOn = options.logger.logLevel <= .debug
    }

    func sent(_ message: WAMPMessage) {
        guard isOn else { return }
        let words = names.withLockedValue { names in
            let words = self.words(of: message, names)
            switch message {
            case .publish(let request, _, let uri, _): Self.note(.publish, request, uri, &names)
            case .subscribe(let request, _, let uri): Self.note(.subscribe, request, uri, &names)
            case .call(let request, _, let uri, _): Self.note(.call, request, uri, &names)
            case .register(let request, _, let uri): Self.note(.register, request, uri, &names)
            case .unsubscribe(let request, let id): Self.note(.unsubscribe, request, names.topics[id] ?? "", &names)
            case .unregister(let request, let id): Self.note(.unregister, request, names.procedures[id] ?? "", &names)
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
                if let name = names.requests.removeValue(forKey: Key(kind: .subscribe, request: request)) { names.topics[id] = name }
            case .registered(let request, let id):
                if let name = names.requests.removeValue(forKey: Key(kind: .register, request: request)) { names.procedures[id] = name }
            case .unsubscribed(let request, _): names.requests[Key(kind: .unsubscribe, request: request)] = nil
            case .unregistered(let request, _): names.requests[Key(kind: .unregister, request: request)] = nil
            case .result(let request, let details, _) where details["progress"] != true:
                names.requests[Key(kind: .call, request: request)] = nil
            case .error(let kind, let request, _, _, _): names.requests[Key(kind: kind, request: request)] = nil
            case .invocation(let request, let id, _, _): Self.note(.invocation, request, names.procedures[id] ?? "", &names)
            default: break
            }
            return words
        }
        logger.debug("← \(words)")
    }

    func received(_ error: WAMPFormatError) { if isOn { logger.debug("← what is no message: \(error)") } }

    func unencodable(_ message: WAMPMessage, _ error: any Error) {
        logger.error("\(message.words()) could not be written, and was not sent: \(error)")
    }

    private static func note(_ kind: WAMPRequestKind, _ request: WAMPID, _ name: String, _ names: inout Names) {
        if !name.isEmpty, names.requests.count < capacity { names.requests[Key(kind: kind, request: request)] = name }
    }

    private func words(of message: WAMPMessage, _ names: Names) -> String {
        message.words(
            WAMPWording(payloadLimit: payloadLimit) {
                names.topics[$0]
            } procedure: {
                names.procedures[$0]
            } request: {
                names.requests[Key(kind: $0, request: $1)]
            })
    }
}
