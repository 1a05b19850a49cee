public import WebSocketCore

/// How a connection, or an attempt at one, was lost.
public struct Loss: Hashable, Sendable {
    /// Whether connecting again can help.
    public var isRetryable: Bool
    /// The code it closed with; nil if no connection had been opened.
    public var code: CloseCode?

    /// A loss judged by someone who knows more than the code, such as the status of a refused upgrade.
    public init(isRetryable: Bool, code: CloseCode? = nil) {
        (self.isRetryable, self.code) = (isRetryable, code)
    }

    /// A loss judged by its close code alone.
    ///
    /// Retryable: no code (1005), a lost connection (1006), a server that goes away, fails, restarts or is overloaded
    /// (1001, 1011 to 1014), a timeout (3008), and codes nobody has assigned. Final: a normal end (1000), our own mistakes
    /// (1002, 1003, 1007 to 1010), bad TLS (1015), unauthorized and forbidden (3000, 3003), and the application's own codes (4000 to 4999).
    public init(code: CloseCode) {
        let isFinal =
            switch code.rawValue {
            case 1000, 1002, 1003, 1007...1010, 1015, 3000, 3003, 4000...4999: true
            default: false
            }
        self.init(isRetryable: !isFinal, code: code)
    }
}
