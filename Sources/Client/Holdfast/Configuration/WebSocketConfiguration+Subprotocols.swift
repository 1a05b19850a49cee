import MachineCore

extension WebSocketConfiguration {
    /// Names of subprotocols that everybody knows: those of this package, and of others that are in wide use.
    ///
    /// Most are in IANA's registry of WebSocket subprotocol names.
    public static let wellKnownSubprotocols: Set<String> = Secrecy.publicSubprotocols
}
