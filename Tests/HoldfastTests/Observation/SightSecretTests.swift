import Holdfast
import HoldfastServer
import HoldfastTesting
import InMemoryLogging
import InMemoryTracing
import MetricsTestKit
import WebSocketRuntime
import Testing
import Tracing

extension SocketTests {
    /// Only the server sees a secret.
    @Suite struct SightSecretTests {
        private static let secret = "s3same-0pen"

        @Test(
            arguments: [
                CredentialPlacement.bearer, .header("X-Api-Key"), .query("token"), .cookie("session"), .subprotocol(prefix: "token."),
            ])
        func `a secret is in no line, label or span, even if the server repeats it`(
            _ placement: CredentialPlacement
        ) async throws {
            let (sight, requestCount) = (Sight(), LockedValue(0))
            let secret = Self.secret
            let server = WebSocketServer(upgrade: { request in
                let attempt = requestCount.withLockedValue { count in
                    count += 1
                    return count
                }
                let hasSecret = "\(request.head.target) \(Array(request.headers))".contains(secret)
                if !hasSecret { Issue.record("the secret did not reach the server") }
                if attempt == 2 { return .accept(subprotocol: request.subprotocols.first, headers: ["X-Seen": secret]) }
                let words = HTTPResponse(status: attempt == 1 ? 503 : 403, headers: ["X-Why": secret], body: Array(secret.utf8))
                return .refuse(words)
            }) { connection, _ in
                await connection.close(code: .internalError, reason: "cannot serve \(secret)")
            }
            try await server.withRunning { server in
                let socket = WebSocket(server.url("/feed?user=tim&key=\(secret)")) { options in
                    sight.watch(&options)
                    options.credentials = CredentialProvider(placement) { Credential(secret) }
                    options.connection.headers = ["X-Other": secret]
                    (options.reconnect.backoff.base, options.reconnect.spacing) = (.milliseconds(10), .zero)
                    options.reconnect.backoff.minimum = .milliseconds(1)
                }
                for await event in socket.events {
                    if case .message = event { Issue.record("no message was sent") }
                }
            }
            #expect(requestCount.withLockedValue(\.self) == 3)
            #expect(sight.log.contains("notice: connection lost") && sight.log.last == "error: given up")
            var recorded = sight.lines.entries.map { "\($0.message) \($0.metadata)" }
            for metric in sight.metrics.counters { recorded.append("\(metric.label) \(metric.dimensions)") }
            for metric in sight.metrics.meters { recorded.append("\(metric.label) \(metric.dimensions)") }
            for metric in sight.metrics.timers { recorded.append("\(metric.label) \(metric.dimensions)") }
            for metric in sight.metrics.recorders { recorded.append("\(metric.label) \(metric.dimensions)") }
            let spans = sight.tracer.finishedSpans
            #expect(spans.count == 3)
            for span in spans {
                recorded.append("\(span.operationName) \(span.errors) \(span.events) \(String(describing: span.status))")
                span.attributes.forEach { recorded.append("\($0) \($1)") }
            }
            #expect(recorded.filter { $0.contains(secret) } == [])
            #expect(recorded.contains { $0.contains("/feed?…") })
        }

        @Test func `a URL that cannot be used is not logged`() async {
            let sight = Sight()
            let socket = WebSocket("wss://tim:\(Self.secret)@example.com/") { sight.watch(&$0) }
            for await _ in socket.events {}
            #expect(sight.log.last == "error: given up")
            #expect(!"\(sight.lines.entries) \(sight.tracer.finishedSpans.map { "\($0.attributes)" })".contains(Self.secret))
        }
    }
}
