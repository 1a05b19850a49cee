import WebSocketRuntime

/// A sender that holds values back to send them later.
protocol HeldSender: AnyObject, Sendable {
    /// Sends all values held now, and waits for that at most as long as the flush timeout.
    func prepareToClose() async
    /// Accepts no more values; the held ones become due.
    func close()
    /// Ends sending: no value can be sent any more.
    func end()
    /// Handles a new connection.
    func connected()
    /// Handles a measured round-trip time.
    func roundTrip(_ time: Duration)
}

/// The held senders of one session: forwards the session's events to them, and keeps them alive while they hold values.
final class HeldSends: Sendable {
    private let state = LockedValue((senders: [ObjectIdentifier: any HeldSender](), isEnded: false))

    var isEmpty: Bool { state.withLockedValue({ $0.senders.isEmpty }) }
    private var senders: [any HeldSender] { state.withLockedValue { Array($0.senders.values) } }

    func add(_ sender: any HeldSender) {
        let isEnded = state.withLockedValue { state in
            if !state.isEnded { state.senders[ObjectIdentifier(sender)] = sender }
            return state.isEnded
        }
        if isEnded { sender.end() }
    }

    func remove(_ sender: any HeldSender) { state.withLockedValue { _ = $0.senders.removeValue(forKey: ObjectIdentifier(sender)) } }

    /// Lets all senders send what they hold.
    func prepareToClose() async {
        let senders = senders
        await withDiscardingTaskGroup { group in
            for sender in senders { group.addTask { await sender.prepareToClose() } }
        }
    }

    func close() { for sender in senders { sender.close() } }

    func end() {
        let senders = state.withLockedValue { state in
            state.isEnded = true
            defer { state.senders = [:] }
            return state.senders.values
        }
        for sender in senders { sender.end() }
    }

    func connected() { for sender in senders { sender.connected() } }

    func roundTrip(_ time: Duration) { for sender in senders { sender.roundTrip(time) } }
}
