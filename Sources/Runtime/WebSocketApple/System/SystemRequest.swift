package import WebSocketCore
package import WebSocketRuntime

/// What the system is asked to connect to.
package struct SystemRequest: Sendable {
    /// `ws:` or `wss:`.
    package let url: String
    /// More fields of the request, subprotocols included; those of the handshake are the system's.
    package let headers: HeaderFields
    /// The largest message taken, in bytes.
    package let messageLimit: Int
    /// Who judges the server.
    package let trust: SystemTrust

    package init(url: String, headers: HeaderFields, messageLimit: Int, trust: SystemTrust) {
        (self.url, self.headers, self.messageLimit, self.trust) = (url, headers, messageLimit, trust)
    }
}
