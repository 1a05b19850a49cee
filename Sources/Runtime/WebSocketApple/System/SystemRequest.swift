package import WebSocketCore

/// What the system is asked to connect to.
package struct SystemRequest: Hashable, Sendable {
    /// `ws:` or `wss:`.
    package let url: String
    /// More fields of the request, subprotocols included; those of the handshake are the system's.
    package let headers: HeaderFields
    /// The largest message taken, in bytes.
    package let messageLimit: Int

    package init(url: String, headers: HeaderFields, messageLimit: Int) {
        (self.url, self.headers, self.messageLimit) = (url, headers, messageLimit)
    }
}
