import RoomCore

/// The messages of a chat as they are shown; a message is rebuilt only when something about it changes.
struct ChatTranscript {
    private var timeline = Timeline()
    /// The stored messages as they are shown, in the timeline's order.
    private var stored: [ChatMessage] = []
    /// The messages of the outbox that are shown.
    private var waiting: [ChatMessage] = []
    /// The IDs of this device's messages among the stored ones.
    private var names: Set<MessageID> = []
    private var user: UserName?
    private var device: DeviceID?
    /// The read markers of other users.
    private var reads: [UserName: Int64] = [:]
    private var markers: [Int64] = []

    /// Creates an empty transcript for a reader.
    init(_ status: RoomStatus = RoomStatus(), device: DeviceID? = nil) {
        timeline = Timeline(reader: status.user, device: device, readUpTo: status.read)
        (user, self.device) = (status.user, device)
        show(status, device: device)
    }

    /// All messages; those that wait in the outbox come last.
    var messages: [ChatMessage] { waiting.isEmpty ? stored : stored + waiting }
    /// The number of stored messages.
    var count: Int { stored.count }
    /// The sequence number of the first stored message.
    var first: Int64? { timeline.first?.seq }
    /// The number of unread messages of other users.
    var unread: Int { timeline.unread }

    // MARK: - Entries

    /// Adds the next entry.
    mutating func take(_ entry: Entry) {
        switch timeline.apply(entry) {
        case .added(let seq): if let place = timeline.place(of: seq) { insert([shown(timeline[place])], at: place) }
        case .changed(let seq): if let place = timeline.place(of: seq) { stored[place] = shown(timeline[place], as: stored[place].id) }
        case nil: break
        }
    }

    /// Adds entries that come before all others.
    mutating func take(earlier entries: [Entry]) {
        let before = timeline.count
        timeline.apply(entries)
        insert(timeline.prefix(timeline.count - before).map { shown($0) }, at: 0)
    }

    private mutating func insert(_ messages: [ChatMessage], at place: Int) {
        var messages = messages
        for index in messages.indices {
            guard case .own(let name) = messages[index].id, let seq = messages[index].seq else { continue }
            // A second message with the same ID is another message.
            if !names.insert(name).inserted { messages[index].id = .stored(seq) }
        }
        if place == stored.count { stored += messages } else { stored.insert(contentsOf: messages, at: place) }
    }

    /// Drops the oldest stored messages, and keeps the given number.
    mutating func keep(_ count: Int) {
        let surplus = stored.count - count
        guard surplus > 0 else { return }
        for case .own(let name) in stored.prefix(surplus).lazy.map(\.id) { names.remove(name) }
        stored.removeFirst(surplus)
        timeline.forget(first: surplus)
    }

    // MARK: - Status

    /// Applies the room's status: read markers, the user, the outbox.
    mutating func show(_ status: RoomStatus, device: DeviceID?) {
        timeline.read(upTo: status.read)
        let others = status.reads.filter { $0.key != status.user }
        let isOther = user != status.user || self.device != device
        let moved = isOther ? nil : span(of: others)
        (user, self.device, reads, markers) = (status.user, device, others, others.values.sorted())
        if isOther {
            showAll()
        } else if let moved {
            show(readIn: moved)
        }
        show(status.outbox)
    }

    /// The range of sequence numbers whose readers have changed; nil if no marker moved.
    private func span(of others: [UserName: Int64]) -> ClosedRange<Int64>? {
        guard others != reads else { return nil }
        var (low, high) = (Int64.max, Int64.min)
        for user in Set(others.keys).union(reads.keys) {
            let (old, new) = (reads[user] ?? 0, others[user] ?? 0)
            if old != new { (low, high) = (min(low, old, new), max(high, old, new)) }
        }
        return low <= high ? low...high : nil
    }

    private mutating func show(readIn span: ClosedRange<Int64>) {
        var place = timeline.insertionPlace(of: span.lowerBound)
        while place < stored.count, let seq = stored[place].seq, seq <= span.upperBound {
            if stored[place].isOwn { stored[place].delivery = delivery(of: seq) }
            place += 1
        }
    }

    private mutating func showAll() {
        timeline.begin(reader: user, device: device)
        let messages = timeline.map { shown($0) }
        (stored, names) = ([], [])
        insert(messages, at: 0)
    }

    private mutating func show(_ outbox: [PendingMessage]) {
        guard !outbox.isEmpty || !waiting.isEmpty else { return }
        let known = Dictionary(waiting.map { ($0.messageID, $0) }, uniquingKeysWith: { first, _ in first })
        waiting = outbox.compactMap { names.contains($0.id) ? nil : shown($0, known[$0.id]) }
    }

    // MARK: - One message

    /// The delivery state of a stored message, from the number of other users whose read marker has reached it.
    private func delivery(of seq: Int64) -> ChatDelivery {
        let readers = markers.count - markers.partitioningPlace { $0 >= seq }
        return readers > 0 ? .seen(readers) : .stored
    }

    /// Builds a stored message with its edits, deletion and reactions.
    private func shown(_ message: Timeline.Message, as id: ChatMessageID? = nil) -> ChatMessage {
        let original = message.original
        var shown = ChatMessage(
            id: original.id, seq: original.seq, user: original.user, isOwn: original.user == user || original.device == device,
            text: message.isDeleted ? "" : Self.text(original.type, message.payload), at: original.sent)
        shown.id = id ?? (original.device == device ? .own(original.id) : .stored(original.seq))
        (shown.isEdited, shown.isDeleted) = (message.isEdited, message.isDeleted)
        shown.isEditable = shown.isOwn && !shown.isDeleted && original.type == ChatText.typeName
        shown.reactions = message.reactions.map { reaction in
            ChatReaction(key: reaction.key, users: reaction.users, isOwn: user.map(reaction.users.contains) ?? false)
        }
        if shown.isOwn { shown.delivery = delivery(of: original.seq) }
        return shown
    }

    /// Builds a message that waits in the outbox; nil if it has nothing to show.
    private func shown(_ message: PendingMessage, _ known: ChatMessage?) -> ChatMessage? {
        let delivery: ChatDelivery
        switch message.stage {
        case .submitted, .queued: delivery = .queued
        case .sent: delivery = .sent
        case .stored, .seen: delivery = .stored
        case .failed(let failure): delivery = .failed(failure.text)
        case .discarded: return nil
        }
        let content = message.content
        let isAnnotation = content.type.hasPrefix("holdfast.")
        // An edit or a reaction shows on its message once it is stored. A failed one is shown, so that the user can retry or discard it.
        if isAnnotation, message.stage.failure == nil { return nil }
        let text =
            known?.text ?? (isAnnotation ? String(content.type.dropFirst("holdfast.".count)) : Self.text(content.type, content.payload))
        var shown = ChatMessage(id: message.id, seq: nil, user: user, isOwn: true, text: text, at: message.sent)
        shown.delivery = delivery
        return shown
    }

    private static func text(_ type: String, _ payload: Payload) -> String {
        if type == ChatText.typeName, let text = try? payload.decode(ChatText.self) { return text.text }
        return "(\(type))"
    }
}

extension [Int64] {
    /// The first index of a sorted list at which the predicate is true.
    fileprivate func partitioningPlace(where isSo: (Int64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isSo(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
