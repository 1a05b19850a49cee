extension WebSocketConfiguration {
    /// Names of subprotocols that everybody knows: those of this package, and of others that are in wide use.
    ///
    /// Most are in IANA's registry of WebSocket subprotocol names.
    public static let wellKnownSubprotocols: Set<String> = [
        "holdfast.rooms.v1.json", "holdfast.rooms.v1.protobuf", "holdfast.quotes.v1.json", "holdfast.quotes.v1.msgpack",
        "holdfast.quotes.v1.protobuf", "wamp", "wamp.2.json", "wamp.2.msgpack", "wamp.2.cbor", "wamp.2.ubjson", "amqp", "binary", "chat",
        "coap", "graphql-transport-ws", "graphql-ws", "json", "jsonrpc", "mqtt", "mqttv3.1", "msgpack", "ocpp1.6", "ocpp2.0", "ocpp2.0.1",
        "ocpp2.1", "sip", "soap", "stomp", "superchat", "v10.stomp", "v11.stomp", "v12.stomp", "v4.channel.k8s.io", "v5.channel.k8s.io",
        "xmpp",
    ]
}
