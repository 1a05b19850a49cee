import MachineCore
import WebSocketCore

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
