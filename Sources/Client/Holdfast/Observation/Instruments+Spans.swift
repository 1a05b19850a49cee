import Tracing
import WebSocketCore

extension Instruments {
    /// Runs `body` in a span, which ends with it.
    ///
    /// Of an error the span gets the kind, and the status if the server gave one; its words may be the peer's.
    func span<Result>(
        _ name: String, _ attributes: SpanAttributes = [:], _ body: () async throws(WebSocketError) -> Result
    ) async throws(WebSocketError) -> Result {
        let tracer = tracer ?? InstrumentationSystem.tracer
        let span: any Span = tracer.startSpan(name, ofKind: .client)
        span.updateAttributes { $0.merge(attributes) }
        defer { span.end() }
        let result = await InstrumentationContext.withValue(span.context) { () async -> Swift.Result<Result, WebSocketError> in
            do throws(WebSocketError) { return .success(try await body()) } catch { return .failure(error) }
        }
        if case .failure(let error) = result {
            span.updateAttributes { attributes in
                attributes["error.type"] = "\(error.code)"
                if let status = error.httpStatus { attributes["http.response.status_code"] = status }
            }
            span.setStatus(SpanStatus(code: .error, message: "\(error.code)"))
        }
        return try result.get()
    }
}

/// Puts what a tracer says of the span into the upgrade request, so that the server's trace goes on from it.
struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout HeaderFields) { headers[key] = value }
}
