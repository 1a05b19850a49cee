public import Holdfast
public import RoomCore
public import RoomsWire
import WebSocketCore

/// What can be chosen about ``Rooms``; the defaults suit an app.
public struct RoomsOptions: Sendable {
    /// How long the machine waits, and how much the outbox takes.
    public var policy = RoomsPolicy()
    /// How long the provider of tokens may take.
    ///
    /// The hub waits for 10 s.
    public var tokenPatience = Duration.seconds(8)
    /// How long before its end a token is replaced on the connection.
    public var tokenMargin = Duration.seconds(30)
    /// How long joining and sending wait for the store.
    public var storePatience = Duration.seconds(30)

    /// The defaults.
    public init() {}

    /// What a socket for rooms offers, and when it connects again.
    public static func prepare(_ options: inout WebSocketOptions, _ encodings: [RoomsEncoding] = [.protobuf, .json]) {
        options.connection.subprotocols = encodings.map(\.subprotocol)
        // The token is in the hello: an origin that is led to must not get it.
        options.connection.redirectsStayInOrigin = true
        // docs/rooms-protocol.md, Errors: 4001 to 4099 invite to come back; 4000 is another connection of the same device.
        for code in UInt16(4001)...4099 { options.reconnect.losses[.closed(CloseCode(rawValue: code))] = .retry }
    }
}
