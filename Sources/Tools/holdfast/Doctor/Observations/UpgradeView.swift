import Holdfast
import MachineCore

/// What came of asking for a WebSocket.
struct UpgradeView: Encodable, Hashable, Sendable {
    struct Field: Encodable, Hashable, Sendable {
        let name: String
        let value: String
    }

    /// Why there is no WebSocket.
    struct Failure: Encodable, Hashable, Sendable {
        /// A code of `TransportError`, such as `refused`.
        let code: String
        let text: String
        /// The first bytes of what came with a refusal.
        var body = ""
    }

    /// What the socket was connected to, such as `[::1]:9001`: the server or the proxy.
    var remote: String?
    /// TCP, with the lookup of the name, and with the proxy if there is one.
    var connectMs: Double?
    var tlsMs: Double?
    /// From the request until the answer.
    var answerMs: Double?
    /// Such as `HTTP/1.1`.
    var httpVersion: String?
    var status: Int?
    var reason: String?
    var headers: [Field] = []
    /// As they may be shown, like the one that was chosen.
    private(set) var subprotocolsOffered: [String] = []
    private(set) var subprotocol: String?
    private(set) var extensions: [String] = []
    var failure: Failure?

    /// Takes over what the answer says; credentials in it are left out.
    mutating func take(_ response: ResponseHead) {
        (status, reason, httpVersion) = (response.status, response.reason, "HTTP/1.\(response.minorVersion)")
        headers = response.headers.map { Field(name: $0.name, value: $0.shownValue) }
    }

    /// Takes over what is offered; a name that may carry a token is left out.
    mutating func offer(_ subprotocols: [String]) { subprotocolsOffered = subprotocols.map(Secrecy.subprotocol) }

    /// Takes over what was agreed on.
    mutating func take(_ agreement: Agreement) {
        (subprotocol, extensions) = (agreement.subprotocol.map(Secrecy.subprotocol), agreement.extensions)
    }

    /// The values of one field.
    func values(_ name: String) -> [String] { headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value) }
}

/// What came of another request than the one asked for.
struct RequestView: Encodable, Hashable, Sendable {
    /// Whether there was a WebSocket.
    let isAccepted: Bool
    var status: Int?
    /// Why there was neither a WebSocket nor a status.
    var error: String?
}

/// Who answered a request that is no HTTP/1.1, and how; without a status nobody did.
struct MalformedView: Encodable, Hashable, Sendable {
    var status: Int?
    /// As he calls himself.
    var server: String?
}
