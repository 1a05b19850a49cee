package import WebSocketApple
import WebSocketCore
package import WebSocketRuntime

extension SystemRequest {
    /// What the system is to be asked for.
    ///
    /// - Throws: `invalidURL`; `invalidConfiguration` for headers that cannot be sent, and for what the system cannot do: trust of our own.
    package init(_ url: String, _ configuration: WebSocketConfiguration) throws(TransportError) {
        let parsed: WebSocketURL
        do throws(URLProblem) { parsed = try WebSocketURL(url) } catch {
            throw TransportError(.invalidURL, error.description, underlying: error)
        }
        try configuration.tls.check(for: "URLSession", supporting: [])
        var headers = configuration.headers
        do throws(HandshakeFailure) {
            var random = SystemRandomNumberGenerator()
            _ = try ClientHandshake(url: parsed, subprotocols: configuration.subprotocols, headers: headers, using: &random)
        } catch {
            throw TransportError(.invalidConfiguration, "\(error)", underlying: error)
        }
        if !configuration.subprotocols.isEmpty {
            headers.add("Sec-WebSocket-Protocol", configuration.subprotocols.joined(separator: ", "))
        }
        self.init(url: parsed.string, headers: headers, messageLimit: configuration.limits.message)
    }
}
