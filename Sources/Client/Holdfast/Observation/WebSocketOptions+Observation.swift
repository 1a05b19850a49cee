import Tracing
import WebSocketCore

extension WebSocketOptions {
    /// A URL without what may be secret: the query, and a user's name and password.
    static func name(_ url: String) -> String { (try? WebSocketURL(url))?.description ?? "an invalid URL" }

    /// Adds what the tracer says of the present span to a request.
    func trace(into headers: inout HeaderFields) {
        guard let context = InstrumentationContext.current else { return }
        if let tracer {
            tracer.inject(context, into: &headers, using: HeaderInjector())
        } else {
            InstrumentationSystem.instrument.inject(context, into: &headers, using: HeaderInjector())
        }
    }
}
