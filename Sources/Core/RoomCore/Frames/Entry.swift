/// A message in a room's log.
public struct Entry: Hashable, Sendable, Identifiable {
    /// Its place in the room's order, from 1.
    public var seq: Int64
    /// The app's name for it.
    public var id: MessageID
    /// Whose store it comes from.
    public var device: DeviceID
    /// Its number among the device's messages to this room, from 1.
    public var cseq: Int64
    /// Who sent it, as the hub knows it.
    public var user: UserName
    /// When the hub stored it, in milliseconds since 1970 UTC.
    public var at: Int64
    /// When the app submitted it, in milliseconds since 1970 UTC.
    public var sent: Int64
    /// How to read its payload, 1 to 64 bytes.
    public var type: String
    /// The message that it is about.
    public var about: Reference?
    /// What it says.
    public var payload: Payload
    /// Whether its user had the right to moderate when it was stored.
    public var isAdmin: Bool

    /// An entry.
    public init(
        seq: Int64, id: MessageID, device: DeviceID, cseq: Int64, user: UserName, at: Int64, sent: Int64, type: String,
        about: Reference? = nil, payload: Payload, isAdmin: Bool = false
    ) {
        (self.seq, self.id, self.device, self.cseq, self.user) = (seq, id, device, cseq, user)
        (self.at, self.sent, self.type, self.about, self.payload, self.isAdmin) = (at, sent, type, about, payload, isAdmin)
    }
}
