public import Holdfast
public import RoomCore
public import RoomsWire
import WebSocketCore

/// The options of ``Rooms``; the defaults suit an app.
public struct RoomsOptions: Sendable {
    /// The machine's delays, and the limits of the outbox.
    public var policy = RoomsPolicy()
    /// The timeout of the token provider.
    ///
    /// The hub waits 10 s for the hello, which contains the token.
    public var tokenPatience = Duration.seconds(8)
    /// How long before it expires a token is replaced on the connection.
    public var tokenMargin = Duration.seconds(30)
    /// How long joining and sending wait for the store.
    public var storePatience = Duration.seconds(30)

    /// Creates the default options.
    public init() {}

    /// Prepares the options of a socket for rooms: its subprotocols, and when it reconnects.
    public static func prepare(_ options: inout WebSocketOptions, _ encodings: [RoomsEncoding] = [.protobuf, .json]) {
        options.connection.subprotocols = encodings.map(\.subprotocol)
        // The hello contains the token, which must not go to another origin by a redirect.
        options.connection.redirectsStayInOrigin = true
        // docs/rooms-protocol.md, Errors: the client may return after codes 4001 to 4099; 4000 means another connection of the same
        // device.
        for code in UInt16(4001)...4099 { options.reconnect.losses[.closed(CloseCode(rawValue: code))] = .retry }
    }
}
