/// What an attempt of a ``WebSocket`` to connect is to be made of.
public struct WebSocketAttempt: Sendable {
    /// The failures in a row before it, and one.
    public let number: Int
    /// Which of the endpoints to connect to, counted from 0.
    public let endpoint: Int
    /// The newest credential, if there is a provider.
    public let credential: Credential?

    /// An attempt; by default the first, without a credential.
    public init(number: Int = 1, endpoint: Int = 0, credential: Credential? = nil) {
        (self.number, self.endpoint, self.credential) = (number, endpoint, credential)
    }
}
