/// An entry of a room's log, as somebody saw it.
public struct HistoryItem: Hashable, Sendable, Codable {
    /// Its place in the log.
    public var seq: Int64
    /// The message's name.
    public var id: String
    /// Whose store it comes from.
    public var device: String
    /// Its number among the device's messages to the room.
    public var cseq: Int64
    /// What its payload comes to, see ``HistoryDigest``.
    public var digest: String

    /// An entry of a room's log.
    public init(seq: Int64, id: String, device: String, cseq: Int64, digest: String) {
        (self.seq, self.id, self.device, self.cseq, self.digest) = (seq, id, device, cseq, digest)
    }
}
