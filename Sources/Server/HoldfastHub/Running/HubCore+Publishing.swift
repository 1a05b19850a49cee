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
    /// Publishes in the name of a user.
    ///
    /// - Parameters:
    ///   - program: The key of the program that publishes; nil: the one that the hub is a part of.
    ///   - isNamed: Whether `id` is the program's name for it, under which it is stored once however often this is called within a day.
    ///     It then has a device of its own, which is remembered for so long; all others of a user share one.
    func publish(
        to room: RoomName, from user: UserName, _ content: Publication.Content, id: MessageID, program: String? = nil,
        isNamed: Bool = true, sent: Int64 = HubCalendar.now
    ) async throws -> HubPublication {
        let publication = Publication(cseq: isNamed ? 1 : 0, id: id, sent: sent, content: content)
        let device = isNamed ? names.device(for: id, of: user, program: program) : ownDevice(of: user)
        switch try await publish(room, device, user, publication) {
        case .stored(let epoch, let ack):
            return HubPublication(position: LogPosition(epoch: epoch, seq: ack.seq), at: ack.at, isDuplicate: ack.isDuplicate)
        case .refused(let refusal): throw PublishingRefusal(refusal: refusal)
        }
    }

    /// A device belongs to one user, so each has one of this hub's; another one in its next life.
    private func ownDevice(of user: UserName) -> DeviceID {
        DeviceID(Bits128(high: ownDevices, low: UInt64(truncatingIfNeeded: user.hashValue)))
    }
}
