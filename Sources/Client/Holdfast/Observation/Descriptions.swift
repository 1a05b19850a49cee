import MachineCore
import WebSocketCore

extension WebSocket: CustomStringConvertible, CustomReflectable {
    /// The state in readable form: `a WebSocket, connected for 3 s`; contains no secrets.
    public var description: String { "a WebSocket, \(state)" }

    /// The state alone, so that a dump shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: ["state": state]) }
}

extension WebSocketConnection: CustomStringConvertible, CustomReflectable {
    /// Whether it is open or how it ended, and the result of the handshake; contains no secrets.
    public var description: String {
        "a connection, \(closeRecord.map { "closed with \($0.code)" } ?? "open"): \(transport.agreement)"
    }

    /// The description, and the description of the server's answer.
    public var customMirror: Mirror { Mirror(self, children: ["connection": description, "response": response]) }
}

extension DroppedSend: CustomReflectable {
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["dropped": description]) }
}

extension UndecodableMessage: CustomReflectable {
    /// The description alone, because the error of a codec often shows the message.
    public var customMirror: Mirror { Mirror(self, children: ["undecodable": description]) }
}

extension WebSocketError: CustomReflectable {
    /// The fields of the transport's error, without secrets.
    public var customMirror: Mirror { Mirror(self, children: ["transport": transport, "isRetryable": isRetryable]) }
}

extension WebSocketConfiguration: CustomStringConvertible, CustomReflectable {
    /// The non-secret parts of the request, and the proxy.
    public var description: String {
        let names = subprotocols.isEmpty ? "" : ", subprotocols \(shownSubprotocols.joined(separator: ", "))"
        let fields = headers.isEmpty ? "" : ", fields \(headers.map(\.name).joined(separator: ", "))"
        return "\(httpVersion)\(names)\(fields), \(proxy)"
    }

    /// All options; fields, subprotocols, the proxy and cookies without secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "headers": headers, "subprotocols": shownSubprotocols, "compression": compression as Any, "limits": limits,
                "timeouts": timeouts, "pingMessage": pingMessage == nil ? "none" : "a message", "httpVersion": httpVersion,
                "tls": tls, "proxy": proxy, "proxyTLS": proxyTLS, "redirects": redirects,
                "cookies": cookies.map { "\($0.jar)" } ?? "none", "delivery": delivery,
            ])
    }

    private var shownSubprotocols: [String] {
        subprotocols.map { publicSubprotocols.contains($0) ? $0 : Secrecy.subprotocol($0) }
    }
}

extension WebSocketOptions: CustomStringConvertible, CustomReflectable {
    /// The options of a connection, and whether there are credentials; contains no secrets.
    public var description: String {
        "\(connection)\(credentials == nil ? "" : ", with credentials")\(reconnects ? "" : ", does not reconnect")"
    }

    /// All options without secrets: other URLs without query and user, of credentials only whether there is a provider.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "connection": connection, "alternatives": alternatives.map(Self.name), "reconnect": reconnect,
                "credentials": credentials == nil ? "none" : "a provider", "credentialPolicy": credentialPolicy, "background": background,
                "path": path, "heartbeat": heartbeat, "sending": sending, "codec": "\(type(of: codec))", "requestLimit": requestLimit,
                "logsPayloads": logsPayloads,
            ])
    }
}

extension WebSocketState: CustomStringConvertible {
    /// The state in readable form, with present times: `waiting: next attempt in 1.3 s, cause: …`; contains no secrets.
    public var description: String {
        switch self {
        case .disconnected(nil): "disconnected"
        case .disconnected(let cause?): "disconnected: \(cause)"
        case .connecting(let attempt): attempt == 1 ? "connecting" : "connecting, attempt \(attempt)"
        case .connected(let since): "connected for \(since.duration(to: .now).words)"
        case .waiting(let until, let cause):
            "waiting: next attempt in \(max(.zero, ContinuousClock.now.duration(to: until)).words)" + (cause.map { ", cause: \($0)" } ?? "")
        case .held: "held: the app is in the background, or there is no network"
        case .closing: "closing"
        case .closed(nil): "closed"
        case .closed(let error?): "closed: \(error)"
        }
    }
}

extension WebSocketEvent: CustomStringConvertible {
    /// The event in readable form; for messages the length and the first bytes, without the values of names such as `password`.
    public var description: String {
        switch self {
        case .opened(let opening): "opened: \(opening)"
        case .message(let message): "message: \(message)"
        case .reconnecting(let attempt, let delay, let cause): "reconnecting: attempt \(attempt) in \(delay.words), cause: \(cause)"
        case .dropped(let dropped): "dropped: \(dropped)"
        case .state(let state): "state: \(state)"
        case .undecodable(let message): "undecodable: \(message)"
        case .missed(let count): "missed: \(count) events"
        case .closed(let closure): "closed: \(closure)"
        }
    }
}

extension DroppedSend: CustomStringConvertible {
    /// The reason, and the message's length and first bytes.
    public var description: String { "\(refusal), \(message)" }
}

extension UndecodableMessage: CustomStringConvertible {
    /// The expected type, and the message's length and first bytes.
    public var description: String { "not a \(type), \(message)" }
}
