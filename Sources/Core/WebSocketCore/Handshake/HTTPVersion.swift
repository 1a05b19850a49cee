/// Which HTTP a WebSocket begins with.
public enum HTTPVersion: Hashable, Sendable, CaseIterable {
    /// HTTP/2 (RFC 8441) over TLS where both sides have it, otherwise HTTP/1.1.
    case automatic
    /// HTTP/1.1 and nothing else (RFC 6455): each WebSocket has a TCP connection of its own.
    case http1
    /// HTTP/2 and nothing else, also without TLS, by prior knowledge: WebSockets share TCP connections.
    case http2
}
