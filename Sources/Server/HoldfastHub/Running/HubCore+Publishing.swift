public import RoomCore

/// What the hub has stored for the server itself.
public struct HubPublication: Hashable, Sendable {
    /// Its place in the room's order; a number of 0 if retention has passed it.
    public var position: LogPosition
    /// When it was stored, in milliseconds since 1970 UTC.
    public var at: Int64
    /// Whether it had been there before.
    public var isDuplicate: Bool
}

/// Why the hub did not store what the server itself published.
public struct PublishingRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, and whether to try again.
    public var refusal: Refusal

    /// For people.
    public var description: String { "not stored (\(refusal.code)): \(refusal.text)" }
}

extension HubCore {
    /// Publishes under a device that stands for this one publication, so that it is stored once however often this is called.
    func publish(
        to room: RoomName, from user: UserName, _ content: Publication.Content, id: MessageID, sent: Int64 = HubCalendar.now
    ) async throws -> HubPublication {
        let publication = Publication(cseq: 1, id: id, sent: sent, content: content)
        switch try await publish(room, DeviceID(id.bits), user, publication) {
        case .stored(let epoch, let ack):
            return HubPublication(position: LogPosition(epoch: epoch, seq: ack.seq), at: ack.at, isDuplicate: ack.isDuplicate)
        case .refused(let refusal): throw PublishingRefusal(refusal: refusal)
        }
    }
}
