/// How both sides agreed to compress messages: permessage-deflate (RFC 7692 §7.1).
public struct DeflateParameters: Hashable, Sendable {
    /// Whether the server starts each message with an empty window.
    public var serverNoContextTakeover: Bool
    /// Whether the client starts each message with an empty window.
    public var clientNoContextTakeover: Bool
    /// The base-2 logarithm of the server's window in bytes, `8...15`.
    public var serverMaxWindowBits: Int
    /// The base-2 logarithm of the client's window in bytes, `8...15`.
    public var clientMaxWindowBits: Int

    /// Makes parameters; the defaults are those of an offer without parameters.
    public init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
        serverMaxWindowBits: Int = 15, clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
    }
}
