import MachineCore
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

extension WebSocketConfiguration: CustomStringConvertible, CustomReflectable {
    /// What is sent with the request, as far as it is no secret, and the way there.
    public var description: String {
        let names = subprotocols.isEmpty ? "" : ", subprotocols \(shownSubprotocols.joined(separator: ", "))"
        let fields = headers.isEmpty ? "" : ", fields \(headers.map(\.name).joined(separator: ", "))"
        return "\(httpVersion)\(names)\(fields), \(proxy)"
    }

    /// All that can be chosen; fields, subprotocols, the proxy and cookies without what may be secret.
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
    /// What a connection obeys, and whether there are credentials; holds no secrets.
    public var description: String {
        "\(connection)\(credentials == nil ? "" : ", with credentials")\(reconnects ? "" : ", connects once")"
    }

    /// All that can be chosen, without what may be secret: of other URLs neither query nor user, of credentials that there are some.
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
    /// In plain words, with times as they are now: `waiting: again in 1.3 s, for …`; holds no secrets.
    public var description: String {
        switch self {
        case .disconnected(nil): "disconnected"
        case .disconnected(let cause?): "disconnected: \(cause)"
        case .connecting(let attempt): attempt == 1 ? "connecting" : "connecting, attempt \(attempt)"
        case .connected(let since): "connected for \(since.duration(to: .now).words)"
        case .waiting(let until, let cause):
            "waiting: again in \(max(.zero, ContinuousClock.now.duration(to: until)).words)" + (cause.map { ", for \($0)" } ?? "")
        case .held: "held: the app is in the background, or there is no network"
        case .closing: "closing"
        case .closed(nil): "closed"
        case .closed(let error?): "closed: \(error)"
        }
    }
}

extension WebSocketEvent: CustomStringConvertible {
    /// What happened in plain words; of messages the length and the first bytes, without what names such as `password` announce.
    public var description: String {
        switch self {
        case .opened(let opening): "opened: \(opening)"
        case .message(let message): "message: \(message)"
        case .reconnecting(let attempt, let delay, let cause): "reconnecting: attempt \(attempt) in \(delay.words), for \(cause)"
        case .dropped(let dropped): "dropped: \(dropped)"
        case .state(let state): "state: \(state)"
        case .undecodable(let message): "undecodable: \(message)"
        case .missed(let count): "missed: \(count) events"
        case .closed(let closure): "closed: \(closure)"
        }
    }
}

extension DroppedSend: CustomStringConvertible {
    /// Why, and the message's length and first bytes.
    public var description: String { "\(refusal), \(message)" }
}

extension UndecodableMessage: CustomStringConvertible {
    /// What it is not, and its length and first bytes.
    public var description: String { "no \(type), \(message)" }
}
