/// A part of the library that is tested with arbitrary bytes.
///
/// libFuzzer runs these bodies on inputs that it develops by code coverage, see `Fuzz/run.sh`.
/// Ordinary tests replay the corpus.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// Bytes of a connection → `MessageReader`: both roles, whole and in chunks, with and without compression.
    case frames
    /// Bytes of a payload → masking, UTF-8, the close frame.
    case payload
    /// Bytes of compressed messages → `Inflater`.
    case inflate
    /// Messages → `Deflater` → `Inflater`.
    case deflate
    /// Bytes of an HTTP request → `HeadParser`, `ServerHandshake`.
    case request
    /// Bytes of an HTTP response → `HeadParser`, `ClientHandshake`, `RefusalBody`.
    case response
    /// A header line → `WebSocketExtension`, `DeflateOffer`, `DeflatePreferences`.
    case extensions
    /// A string → `WebSocketURL`.
    case url
    /// Bytes of a certificate → `ServerCertificate`, `Pin`, `CalendarDate`.
    case certificate
    /// Bytes of a proxy → `ProxyNegotiation`.
    case proxy
    /// `Set-Cookie` fields, one a line → `CookieJar`.
    case cookies
    /// Bytes of MessagePack → `Value`, `PayloadPeek`.
    case messagePack
    /// Bytes of CBOR → `Value`, `PayloadPeek`.
    case cbor
    /// A text of JSON → `Value`, `PayloadPeek`.
    case json
    /// Bytes of MessagePack or CBOR → a `Codable` struct.
    case codable
    /// A list of inputs → `CloseHandshake`.
    case closing
    /// A list of inputs → `Heartbeat`.
    case heartbeat
    /// A client's frame of rooms, JSON or (after a byte) Protocol Buffers → `RoomsEncoding`.
    case clientFrame
    /// A hub's frame of rooms, the same way.
    case hubFrame
    /// A message of WAMP: a byte that picks the serialization, then its bytes → `WAMPMessage`.
    case wampMessage
    /// A list of inputs → WAMP's `ClientMachine`.
    case clientMachine
    /// A list of inputs → WAMP's `RouterMachine`.
    case routerMachine
    /// A byte that picks the subprotocol, then a GraphQL server's messages, one a line → `GraphQLCoding`, `GraphQLMachine`.
    case graphQLServer
    /// A Socket.IO server's messages, one a line → `SocketIOCoding`, `SocketIOMachine`.
    case socketIOServer
    /// A list of inputs, one a line → `EnginePayload`, `EnginePolling`.
    case enginePolling
    /// An update of a shared document, version 1 → `SharedDocument`, `DocumentUpdate`, `DocumentUndo`, `DocumentSnapshot`.
    case documentUpdate
    /// The same with version 2.
    case documentUpdateV2
    /// A byte that picks the version, then updates, each after its length in two bytes → `DocumentUpdate`.
    case documentMerge
    /// A list of edits of three copies, and of the order in which their updates come.
    case documentEdits
    /// An update of states → `DocumentAwareness`.
    case documentAwareness
    /// Bytes of a position → `DocumentPosition`.
    case documentPosition
    /// A byte that picks the version, then a snapshot → `DocumentSnapshot`.
    case documentSnapshot

    /// Runs the body; throws a ``Finding`` if a rule of ours is broken, and traps if the library does.
    public func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        switch self {
        case .frames: try Self.frames(&input)
        case .payload: try Self.payload(&input)
        case .inflate: try Self.inflate(&input)
        case .deflate: try Self.deflate(&input)
        case .request: try Self.request(&input)
        case .response: try Self.response(&input)
        case .extensions: try Self.extensions(&input)
        case .url: try Self.url(&input)
        case .certificate: try Self.certificate(&input)
        case .proxy: try Self.proxy(&input)
        case .cookies: try Self.cookies(&input)
        case .messagePack: try Self.messagePack(&input)
        case .cbor: try Self.cbor(&input)
        case .json: try Self.json(&input)
        case .codable: try Self.codable(&input)
        case .closing: try Self.closing(&input)
        case .heartbeat: try Self.heartbeat(&input)
        case .clientFrame: try Self.clientFrame(&input)
        case .hubFrame: try Self.hubFrame(&input)
        case .wampMessage: try Self.wampMessage(&input)
        case .clientMachine: try Self.clientMachine(&input)
        case .routerMachine: try Self.routerMachine(&input)
        case .graphQLServer: try Self.graphQLServer(&input)
        case .socketIOServer: try Self.socketIOServer(&input)
        case .enginePolling: try Self.enginePolling(&input)
        case .documentUpdate: try Self.documentUpdate(&input)
        case .documentUpdateV2: try Self.documentUpdateV2(&input)
        case .documentMerge: try Self.documentMerge(&input)
        case .documentEdits: try Self.documentEdits(&input)
        case .documentAwareness: try Self.documentAwareness(&input)
        case .documentPosition: try Self.documentPosition(&input)
        case .documentSnapshot: try Self.documentSnapshot(&input)
        }
    }
}
