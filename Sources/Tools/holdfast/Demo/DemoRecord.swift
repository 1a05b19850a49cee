import HoldfastRooms
import HoldfastTerminal

/// The messages of the demo and where they arrived: the facts for checking that nothing was lost, repeated or reordered.
///
/// While the demo runs, only the sent messages and the shown entries are recorded. The rest is read from the hub's log and the clients'
/// stores at the end.
struct DemoRecord: Hashable, Sendable {
    /// A message that a client's outbox accepted.
    struct Sent: Hashable, Sendable {
        let id: MessageID
        let text: String
        let author: String
    }
    private(set) var sent: [Sent] = []
    /// The hub's log, in order.
    var log: [Entry] = []
    /// The stored entries of each client, in order.
    var stores: [String: [Entry]] = [:]
    /// The messages that each client's app was shown, in order.
    var shown: [String: [MessageID]] = [:]

    mutating func sent(_ id: MessageID, _ text: String, by author: String) { sent.append(Sent(id: id, text: text, author: author)) }

    /// The number of sent messages that are in the log, with their text.
    var storedCount: Int { sent.count { message in log.contains { $0.id == message.id && $0.text == message.text } } }

    /// The number of messages that reached the store and the app of every client.
    var deliveredCount: Int { sent.count { isDelivered($0.id) } }

    /// The number of messages that are missing in the log or at a client.
    var lostCount: Int { sent.count - sent.count { message in isDelivered(message.id) && log.contains { $0.id == message.id } } }

    /// The number of duplicate messages in the log, in a store, or in an app.
    var doubledCount: Int {
        let lists = [log.map(\.id)] + stores.values.map { $0.map(\.id) } + Array(shown.values)
        return lists.reduce(0) { $0 + $1.count - Set($1).count }
    }

    /// Whether all have the same messages in the same order.
    var isInOneOrder: Bool {
        let order = log.map(\.id)
        return stores.values.allSatisfy { $0.map(\.id) == order } && shown.values.allSatisfy { $0 == order }
    }

    /// Returns whether every message arrived once, and in one order.
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
    /// The text of a chat message.
    var text: String? { content(ChatText.self)?.text }
}

/// Formats the lines of the timeline: time since the start, party and event.
struct DemoTimeline: Hashable, Sendable {
    enum Party: String, Hashable, Sendable, CaseIterable { case hub, link, ann, bob, demo }

    let style: Style

    func line(at time: Duration, _ party: Party, _ text: String, _ part: Style.Part? = nil) -> String {
        let name = party.rawValue + String(repeating: " ", count: 4 - party.rawValue.count)
        return style.paint(time.timelineColumn, .dim) + "  " + name + "  " + (part.map { style.paint(text, $0) } ?? text)
    }
}
