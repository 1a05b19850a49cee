extension HistoryEvent {
    /// The app submitted a message.
    public static func submitted(_ id: String, digest: String, room: String, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(.submitted, who: who, at: at, room: room)
        (event.id, event.digest) = (id, digest)
        return event
    }

    /// The message is in the outbox.
    public static func queued(_ id: String, cseq: Int64, device: String?, room: String, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(.queued, who: who, at: at, room: room)
        (event.id, event.cseq, event.device) = (id, cseq, device)
        return event
    }

    /// The message is in the room's log.
    public static func acked(_ id: String, epoch: String, seq: Int64, room: String, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(.acked, who: who, at: at, room: room)
        (event.id, event.epoch, event.seq) = (id, epoch, seq)
        return event
    }

    /// The message will not be sent.
    public static func failed(
        _ id: String, isUncertain: Bool, text: String, room: String, who: String, at: Int64 = 0
    ) -> HistoryEvent {
        var event = HistoryEvent(.failed, who: who, at: at, room: room)
        (event.id, event.isUncertain, event.text) = (id, isUncertain, text)
        return event
    }

    /// An outcome of a message by its ID only: refused, retried, discarding, discarded.
    public static func message(_ what: Kind, _ id: String, room: String, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(what, who: who, at: at, room: room)
        event.id = id
        return event
    }

    /// Entries of an epoch: applied, replaced, opened, paged, a store or a log.
    ///
    /// - Parameter seq: The cursor, or the first retained number.
    public static func entries(
        _ what: Kind, _ items: [HistoryItem] = [], epoch: String, seq: Int64? = nil, room: String, who: String, at: Int64 = 0
    ) -> HistoryEvent {
        var event = HistoryEvent(what, who: who, at: at, room: room)
        (event.items, event.epoch, event.seq) = (items, epoch, seq)
        return event
    }

    /// A list of names: an outbox, or the members who are present.
    public static func names(_ what: Kind, _ names: [String], room: String, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(what, who: who, at: at, room: room)
        event.names = names
        return event
    }

    /// The number of times that something happened.
    public static func counted(_ text: String, _ count: Int64, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(.counted, who: who, at: at)
        (event.text, event.count) = (text, count)
        return event
    }

    /// A rule that the writer itself saw broken.
    public static func broken(_ text: String, who: String, at: Int64 = 0) -> HistoryEvent {
        var event = HistoryEvent(.broken, who: who, at: at)
        event.text = text
        return event
    }
}
