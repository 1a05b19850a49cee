/// The parameters of one `permessage-deflate` element, as a client offers it (RFC 7692 §7.1).
///
/// Answers use the same parameters. In an answer, `client_max_window_bits` must have a value.
package struct DeflateOffer: Hashable, Sendable {
    /// The values that `client_max_window_bits` may have in an offer.
    package enum ClientWindow: Hashable, Sendable {
        /// The name without a value: the server may choose.
        case anyValue
        /// At most this, `8...15`.
        case bits(Int)

        var bits: Int { if case .bits(let bits) = self { bits } else { 15 } }
    }

    /// Asks the server to start each message with an empty window.
    package var serverNoContextTakeover: Bool
    /// Says that the client starts each message with an empty window.
    package var clientNoContextTakeover: Bool
    /// The largest window the server may use, `8...15`; nil if absent.
    package var serverMaxWindowBits: Int?
    /// The largest window the client will use; nil if absent, and then the server must not limit it.
    package var clientMaxWindowBits: ClientWindow?

    static let name = "permessage-deflate"

    /// Creates an offer; by default one without parameters.
    package init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
        serverMaxWindowBits: Int? = nil, clientMaxWindowBits: ClientWindow? = nil
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
    }

    /// Reads an element; fails if it is another extension, or has an unknown, repeated or invalid parameter.
    package init?(_ element: WebSocketExtension) {
        guard element.name == Self.name, Set(element.parameters.map(\.name)).count == element.parameters.count else { return nil }
        self.init()
        for parameter in element.parameters {
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil): serverNoContextTakeover = true
            case ("client_no_context_takeover", nil): clientNoContextTakeover = true
            case ("client_max_window_bits", nil): clientMaxWindowBits = .anyValue
            case ("server_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                serverMaxWindowBits = bits
            case ("client_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                clientMaxWindowBits = .bits(bits)
            default: return nil
            }
        }
    }

    /// The offer as an element of `Sec-WebSocket-Extensions`.
    package var element: WebSocketExtension {
        var element = WebSocketExtension(Self.name)
        if serverNoContextTakeover { element.parameters.append(.init("server_no_context_takeover")) }
        if clientNoContextTakeover { element.parameters.append(.init("client_no_context_takeover")) }
        if let bits = serverMaxWindowBits { element.parameters.append(.init("server_max_window_bits", "\(bits)")) }
        switch clientMaxWindowBits {
        case .bits(let bits): element.parameters.append(.init("client_max_window_bits", "\(bits)"))
        case .anyValue: element.parameters.append(.init("client_max_window_bits"))
        case nil: break
        }
        return element
    }

    /// The text of the header field.
    package var headerValue: String { element.headerValue }

    /// Reads a server's answer to this offer; throws ``HandshakeFailure/Kind/invalidExtension`` if it does not match the offer.
    package func accept(_ answer: WebSocketExtension) throws(HandshakeFailure) -> DeflateParameters {
        func failure(_ detail: String) -> HandshakeFailure {
            HandshakeFailure(.invalidExtension, "\(quoted(answer.headerValue)): \(detail)")
        }
        guard let answer = DeflateOffer(answer) else { throw failure("an unknown, repeated or wrong parameter") }
        if serverNoContextTakeover, !answer.serverNoContextTakeover {  // RFC 7692 §7.1.1.1
            throw failure("server_no_context_takeover was asked for and is not granted")
        }
        if let most = serverMaxWindowBits, (answer.serverMaxWindowBits ?? .max) > most {  // §7.1.2.1
            throw failure("server_max_window_bits must be there, and at most \(most)")
        }
        if answer.clientMaxWindowBits == .anyValue { throw failure("client_max_window_bits has no value") }  // §7.1.2.2
        if answer.clientMaxWindowBits != nil, clientMaxWindowBits == nil {  // §7.1.2.2
            throw failure("client_max_window_bits was not offered")
        }
        return DeflateParameters(
            serverNoContextTakeover: answer.serverNoContextTakeover,
            clientNoContextTakeover: answer.clientNoContextTakeover || clientNoContextTakeover,
            serverMaxWindowBits: answer.serverMaxWindowBits ?? 15,
            clientMaxWindowBits: min(answer.clientMaxWindowBits?.bits ?? 15, clientMaxWindowBits?.bits ?? 15))
    }

    /// Reads a decimal number in `8...15` without leading zeros (RFC 7692 §7.1.2).
    private static func windowBits(_ text: String) -> Int? {
        (8...15).first { String($0) == text }
    }
}

/// The negotiated parameters of permessage-deflate (RFC 7692 §7.1).
public struct DeflateParameters: Hashable, Sendable {
    /// Whether the server starts each message with an empty window.
    public var serverNoContextTakeover: Bool
    /// Whether the client starts each message with an empty window.
    public var clientNoContextTakeover: Bool
    /// The base-2 logarithm of the server's window in bytes, `8...15`.
    public var serverMaxWindowBits: Int
    /// The base-2 logarithm of the client's window in bytes, `8...15`.
    public var clientMaxWindowBits: Int

    /// Creates parameters; the defaults are those of an offer without parameters.
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

/// The compression that one side accepts: the limits it requires.
///
/// Both roles use the same names: `server…` concerns messages from the server, `client…` messages from the client.
public struct DeflatePreferences: Hashable, Sendable {
    /// Whether the server must start each message with an empty window: less memory, less compression.
    public var serverNoContextTakeover: Bool
    /// Whether the client must start each message with an empty window.
    public var clientNoContextTakeover: Bool
    /// The largest window for messages from the server, as a base-2 logarithm; limited to `8...15`.
    public var serverMaxWindowBits: Int { didSet { serverMaxWindowBits = Self.kept(serverMaxWindowBits) } }
    /// The largest window for messages from the client, as a base-2 logarithm; limited to `8...15`.
    public var clientMaxWindowBits: Int { didSet { clientMaxWindowBits = Self.kept(clientMaxWindowBits) } }

    /// Creates preferences; by default without limits.
    public init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
        serverMaxWindowBits: Int = 15, clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = Self.kept(serverMaxWindowBits)
        self.clientMaxWindowBits = Self.kept(clientMaxWindowBits)
    }

    /// The offer of a client with these preferences.
    ///
    /// It always lets the server limit the client's window. A server that cannot meet the other limits declines, and messages are sent
    /// uncompressed.
    package var offer: DeflateOffer {
        DeflateOffer(
            serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
            serverMaxWindowBits: serverMaxWindowBits < 15 ? serverMaxWindowBits : nil,
            clientMaxWindowBits: clientMaxWindowBits < 15 ? .bits(clientMaxWindowBits) : .anyValue)
    }

    /// Returns the answer of a server with these preferences: it accepts the first offer that it can meet; nil if there is none.
    ///
    /// Other extensions and malformed offers are ignored (RFC 7692 §7.1). If the client's window must be limited, an offer without
    /// `client_max_window_bits` is ignored too, because such a client cannot limit it.
    public func answer(to offers: [WebSocketExtension]) -> (parameters: DeflateParameters, answer: WebSocketExtension)? {
        for case let offer? in offers.lazy.map(DeflateOffer.init) where clientMaxWindowBits == 15 || offer.clientMaxWindowBits != nil {
            let parameters = DeflateParameters(
                serverNoContextTakeover: serverNoContextTakeover || offer.serverNoContextTakeover,
                clientNoContextTakeover: clientNoContextTakeover || offer.clientNoContextTakeover,
                serverMaxWindowBits: min(serverMaxWindowBits, offer.serverMaxWindowBits ?? 15),
                clientMaxWindowBits: min(clientMaxWindowBits, offer.clientMaxWindowBits?.bits ?? 15))
            return (parameters, Self.answer(parameters, to: offer).element)
        }
        return nil
    }

    /// Returns the answer.
    ///
    /// It names a window only if the offer did or if it is limited, because some clients accept no parameters.
    private static func answer(_ parameters: DeflateParameters, to offer: DeflateOffer) -> DeflateOffer {
        var answer = DeflateOffer(
            serverNoContextTakeover: parameters.serverNoContextTakeover, clientNoContextTakeover: parameters.clientNoContextTakeover)
        if offer.serverMaxWindowBits != nil || parameters.serverMaxWindowBits < 15 {
            answer.serverMaxWindowBits = parameters.serverMaxWindowBits
        }
        if parameters.clientMaxWindowBits < 15 { answer.clientMaxWindowBits = .bits(parameters.clientMaxWindowBits) }
        return answer
    }

    private static func kept(_ bits: Int) -> Int { min(max(bits, 8), 15) }
}
