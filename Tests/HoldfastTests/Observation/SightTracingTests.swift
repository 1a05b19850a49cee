import Holdfast
import HoldfastServer
import HoldfastTesting
import InMemoryTracing
import WebSocketRuntime
import Testing
import Tracing

/// The spans of a session.
@Suite(.timeLimit(.minutes(1))) struct SightTracingTests {
    private let sight = Sight()

    @Test func `every attempt is a span, from its start to the open connection or the failure`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        try await stage.refuse(.refused(503))
        _ = await reader.next()
        #expect(sight.tracer.activeSpans.isEmpty)
        await stage.pause(of: .seconds(1))
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(sight.tracer.activeSpans.map(\.operationName) == ["websocket connect"])
        _ = attempt.accept()
        _ = await reader.next()
        let spans = sight.tracer.popFinishedSpans()
        #expect(spans.map(\.operationName) == ["websocket connect", "websocket connect"])
        #expect(spans.map(\.kind) == [.client, .client])
        #expect(spans.map(\.status?.code) == [.error, nil])
        #expect(spans[0].attributes.get("error.type") == "refused")
        #expect(spans[0].attributes.get("http.response.status_code") == 503)
        #expect(spans.map { $0.attributes.get("holdfast.attempt") } == [1, 2])
        // A span has only the kind of an error, because the text may come from the peer.
        #expect(spans.allSatisfy { $0.errors.isEmpty })
    }
}

extension SocketTests {
    @Suite struct SightTracingTests {
        @Test func `the server's trace continues from the attempt's span`() async throws {
            let sight = Sight()
            let seen = LockedValue<[String?]>([])
            let server = WebSocketServer { connection, request in
                seen.withLockedValue { $0 = ["trace", "span"].map { request.headers["in-memory-\($0)-id"] } }
                for try await message in connection.messages { try await connection.send(message) }
            }
            try await server.withRunning { running in
                let socket = WebSocket(running.url("/feed?token=sesame")) { sight.watch(&$0) }
                for await event in socket.events { if case .opened = event { break } }
                let span = try #require(sight.tracer.finishedSpans.first)
                #expect(await Sight.eventually { seen.withLockedValue(\.self) == [span.traceID, span.spanID] })
                #expect(span.attributes.get("url.full") == .string(running.url("/feed?…")))
                await socket.close()
            }
        }
    }
}
