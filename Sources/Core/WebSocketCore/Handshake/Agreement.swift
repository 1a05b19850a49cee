import MachineCore

/// What client and server agreed on in the opening handshake.
public struct Agreement: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The subprotocol that the server chose among those offered.
    public var subprotocol: String?
    /// How messages are compressed; `nil` if they are not.
    public var deflate: DeflateParameters?
    /// The extensions in use, as written in the answer.
    public var extensions: [String]
    /// The response itself: 101, or 200 to 299 over HTTP/2.
    public var response: ResponseHead

    /// Makes an agreement.
    public init(subprotocol: String? = nil, deflate: DeflateParameters? = nil, extensions: [String] = [], response: ResponseHead) {
        (self.subprotocol, self.deflate, self.extensions, self.response) = (subprotocol, deflate, extensions, response)
    }

    /// The response's status, the subprotocol and the extensions, for logs; a subprotocol that is not well known is hidden.
    public var description: String {
        (["\(response)"] + (subprotocol.map { ["subprotocol \(Secrecy.subprotocol($0))"] } ?? []) + extensions).joined(separator: ", ")
    }

    /// The description, and the response as it describes itself.
    public var customMirror: Mirror { Mirror(self, children: ["agreement": description, "response": response]) }
}
