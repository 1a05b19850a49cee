import WebSocketCore

extension WebSocket: CustomStringConvertible, CustomReflectable {
    /// What it is doing, in plain words: `a WebSocket, connected for 3 s`; holds no secrets.
    public var description: String { "a WebSocket, \(state)" }

    /// Its state: a dump tells no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["state": state]) }
}

extension WebSocketConnection: CustomStringConvertible, CustomReflectable {
    /// Whether it is open, or how it ended, and what was agreed on; holds no secrets.
    public var description: String {
        "a connection, \(closeRecord.map { "closed with \($0.code)" } ?? "open"): \(transport.agreement)"
    }

    /// The description, and the server's answer as it describes itself.
    public var customMirror: Mirror { Mirror(self, children: ["connection": description, "response": response]) }
}

extension DroppedSend: CustomReflectable {
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["dropped": description]) }
}

extension UndecodableMessage: CustomReflectable {
    /// The description alone: what a codec says of a message often shows the message.
    public var customMirror: Mirror { Mirror(self, children: ["undecodable": description]) }
}

extension WebSocketError: CustomReflectable {
    /// What the transport's error knows, without what may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["transport": transport, "isRetryable": isRetryable]) }
}
