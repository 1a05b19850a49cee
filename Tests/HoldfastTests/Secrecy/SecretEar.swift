import Foundation
import Holdfast
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import WebSocketRuntime
import Tracing

/// Records everything that a session reports, and finds a secret in it in any spelling.
final class SecretEar: Sendable {
    let sight = Sight()
    private let recorded = LockedValue<[String]>([])

    /// A logger that records every line.
    var logger: Logger {
        var logger = Logger(label: "ear") { [lines = sight.lines] _ in lines }
        logger.logLevel = .trace
        return logger
    }

    /// Observes a session, and records the descriptions of its options.
    func watch(_ options: inout WebSocketOptions, logsPayloads: Bool) {
        sight.watch(&options)
        options.logsPayloads = logsPayloads
        handle(options)
        handle(options.connection)
    }

    /// Records all descriptions of a value: `description`, `debugDescription` and a dump.
    func handle(_ value: Any) {
        var dumped = ""
        dump(value, to: &dumped)
        let words = ["\(value)", String(reflecting: value), dumped]
        recorded.withLockedValue { $0 += words }
    }

    func handle(_ error: WebSocketError) {
        handle(error as Any)
        handle(error.transport)
        handle(error.responseHeaders)
        for header in error.responseHeaders { handle(header) }
        for challenge in error.challenges { handle(challenge) }
        if let response = error.transport.response { handle(response) }
        if let record = error.closeRecord { handle(record) }
        if let underlying = error.underlying { handle(underlying) }
    }

    func handle(_ event: WebSocketEvent) {
        handle(event as Any)
        switch event {
        case .opened(let opening):
            handle(opening)
            handle(opening.headers)
            handle(opening.connection)
            handle(opening.connection.response)
        case .reconnecting(_, _, let cause): handle(cause)
        case .state(let state): handle(state)
        case .dropped(let dropped): handle(dropped.message)
        case .closed(let closure):
            handle(closure)
            if let error = closure.error { handle(error) }
        case .message, .undecodable, .missed: break
        }
    }

    /// All recorded texts, with those of the log, the metrics and the spans.
    var everything: [String] {
        var all = recorded.withLockedValue(\.self)
        all += sight.lines.entries.map { "\($0.message) \($0.metadata)" }
        for metric in sight.metrics.counters { all.append("\(metric.label) \(metric.dimensions)") }
        for metric in sight.metrics.meters { all.append("\(metric.label) \(metric.dimensions)") }
        for metric in sight.metrics.timers { all.append("\(metric.label) \(metric.dimensions)") }
        for metric in sight.metrics.recorders { all.append("\(metric.label) \(metric.dimensions)") }
        for span in sight.tracer.finishedSpans {
            all.append("\(span.operationName) \(span.errors) \(span.events) \(String(describing: span.status))")
            span.attributes.forEach { all.append("\($0) \($1)") }
        }
        return all
    }

    /// The recorded texts that contain the secret.
    func leaks(of secret: String) -> [String] {
        let spellings = Self.spellings(of: secret)
        return everything.filter { words in spellings.contains { words.contains($0) } }
    }

    /// The secret as it is, percent-encoded, in hexadecimal, and in Base64 at any offset within a longer value.
    static func spellings(of secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        var spellings = [secret, secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret]
        let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        spellings.append(secret.addingPercentEncoding(withAllowedCharacters: unreserved) ?? secret)
        for separator in ["", " "] { spellings.append(bytes.map { String(format: "%02x", $0) }.joined(separator: separator)) }
        for lead in 0..<3 {
            let digits = Data([UInt8](repeating: 0x78, count: lead) + bytes).base64EncodedString()
            // The digits that depend on neighbouring bytes are left out.
            spellings.append(String(digits.dropFirst(lead == 0 ? 0 : 4).dropLast(4)))
        }
        return spellings
    }
}
