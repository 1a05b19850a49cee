import HoldfastRooms

/// What the demo said, and where it is found afterwards: the facts that its promise is checked against.
///
/// Nothing is counted while it runs but what was sent; the rest is read from the hub's log and from the clients' stores when all is over.
struct DemoLedger: Hashable, Sendable {
    /// A message that a client's outbox took.
    struct Sent: Hashable, Sendable {
        let id: MessageID
        let text: String
        let author: String
    }
    private(set) var sent: [Sent] = []
    /// The hub's log, in order.
    var log: [Entry] = []
    /// What each client has stored, in order.
    var stores: [String: [Entry]] = [:]
    /// What each client's app was shown, in order.
    var shown: [String: [MessageID]] = [:]

    mutating func sent(_ id: MessageID, _ text: String, by author: String) { sent.append(Sent(id: id, text: text, author: author)) }

    /// How many of those that were sent are in the log, with what they said.
    var storedCount: Int { sent.count { message in log.contains { $0.id == message.id && $0.text == message.text } } }

    /// How many reached the store and the app of every client.
    var deliveredCount: Int { sent.count { isDelivered($0.id) } }

    /// How many did not.
    var lostCount: Int { sent.count - sent.count { message in isDelivered(message.id) && log.contains { $0.id == message.id } } }

    /// How many copies there are that nobody sent twice: in the log, in a store, or before somebody's eyes.
    var doubledCount: Int {
        let lists = [log.map(\.id)] + stores.values.map { $0.map(\.id) } + Array(shown.values)
        return lists.reduce(0) { $0 + $1.count - Set($1).count }
    }

    /// Whether all have the same messages in the same order.
    var isInOneOrder: Bool {
        let order = log.map(\.id)
        return stores.values.allSatisfy { $0.map(\.id) == order } && shown.values.allSatisfy { $0 == order }
    }

    /// Whether everything that was sent arrived once, and in one order.
    func keepsPromise(messages: Int, clients: Int) -> Bool {
        messages > 0 && sent.count == messages && storedCount == messages && deliveredCount == messages && lostCount == 0
            && doubledCount == 0 && log.count == messages && stores.count == clients && shown.count == clients && isInOneOrder
    }

    /// The totals, on one line.
    var summary: String {
        "sent \(sent.count), stored \(storedCount), delivered \(deliveredCount), lost \(lostCount), doubled \(doubledCount)"
    }

    private func isDelivered(_ id: MessageID) -> Bool {
        !stores.isEmpty && stores.values.allSatisfy { $0.contains { $0.id == id } } && shown.values.allSatisfy { $0.contains(id) }
    }
}

extension Entry {
    /// What somebody wrote.
    var text: String? { content(ChatText.self)?.text }
}

/// Lines of what happened when: time since the start, who, and what.
struct Timeline: Hashable, Sendable {
    enum Party: String, Hashable, Sendable, CaseIterable { case hub, link, ann, bob, demo }

    let style: Style

    func line(at time: Duration, _ party: Party, _ text: String, _ part: Style.Part? = nil) -> String {
        let name = party.rawValue + String(repeating: " ", count: 4 - party.rawValue.count)
        return style.paint(time.timelineColumn, .dim) + "  " + name + "  " + (part.map { style.paint(text, $0) } ?? text)
    }
}
