/// An entry of a room's log, as a writer saw it.
public struct HistoryItem: Hashable, Sendable, Codable {
    /// Its position in the log.
    public var seq: Int64
    /// The message's ID.
    public var id: String
    /// The device that published it.
    public var device: String
    /// Its number within the device's messages to the room.
    public var cseq: Int64
    /// The digest of its payload, see ``HistoryDigest``.
    public var digest: String

    /// An entry of a room's log.
    public init(seq: Int64, id: String, device: String, cseq: Int64, digest: String) {
        (self.seq, self.id, self.device, self.cseq, self.digest) = (seq, id, device, cseq, digest)
    }
}
