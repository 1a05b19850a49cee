/// The compression that one side is willing to do: the limits it insists on.
///
/// Both roles use the same names: `server…` is about what the server sends, `client…` about what the client sends.
public struct DeflatePreferences: Hashable, Sendable {
    /// Have the server start each message with an empty window: less memory, less compression.
    public var serverNoContextTakeover: Bool
    /// Have the client start each message with an empty window.
    public var clientNoContextTakeover: Bool
    /// The largest window for what the server sends, as a base-2 logarithm; kept within `8...15`.
    public var serverMaxWindowBits: Int { didSet { serverMaxWindowBits = Self.kept(serverMaxWindowBits) } }
    /// The largest window for what the client sends, as a base-2 logarithm; kept within `8...15`.
    public var clientMaxWindowBits: Int { didSet { clientMaxWindowBits = Self.kept(clientMaxWindowBits) } }

    /// Makes preferences; by default no limits.
    public init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
        serverMaxWindowBits: Int = 15, clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = Self.kept(serverMaxWindowBits)
        self.clientMaxWindowBits = Self.kept(clientMaxWindowBits)
    }

    /// What a client with these preferences offers.
    ///
    /// It always lets the server limit the client's window. A server that cannot keep the other limits declines,
    /// and messages go uncompressed.
    public var offer: DeflateOffer {
        DeflateOffer(
            serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
            serverMaxWindowBits: serverMaxWindowBits < 15 ? serverMaxWindowBits : nil,
            clientMaxWindowBits: clientMaxWindowBits < 15 ? .bits(clientMaxWindowBits) : .anyValue)
    }

    /// What a server with these preferences answers: it takes the first offer that it can keep, `nil` if there is none.
    ///
    /// Other extensions and malformed offers are passed over (RFC 7692 §7.1). So is an offer without
    /// `client_max_window_bits` if the client's window must be limited: such a client cannot limit it.
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

    /// Names a window only if the offer did or if it is limited: some clients know no parameters.
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
