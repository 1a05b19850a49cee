import WebSocketRuntime

/// Something that holds values back to send them later.
protocol HeldSender: AnyObject, Sendable {
    /// Sends all that is held now, and waits for that as long as a farewell may take.
    func sayFarewell() async
    /// Takes nothing more; what is held is due.
    func close()
    /// Nothing leaves any more.
    func end()
    /// There is another connection.
    func connected()
    /// The connection was asked, and answered after so long.
    func roundTrip(_ time: Duration)
}

/// All that hold values back for one session: it tells them what happens to it, and they are kept as long as they hold anything.
final class HeldSends: Sendable {
    private let state = LockedValue((senders: [ObjectIdentifier: any HeldSender](), isEnded: false))

    var isEmpty: Bool { state.withLockedValue(\.senders.isEmpty) }
    private var senders: [any HeldSender] { state.withLockedValue { Array($0.senders.values) } }

    func add(_ sender: any HeldSender) {
        let isEnded = state.withLockedValue { state in
            if !state.isEnded { state.senders[ObjectIdentifier(sender)] = sender }
            return state.isEnded
        }
        if isEnded { sender.end() }
    }

    func remove(_ sender: any HeldSender) { state.withLockedValue { _ = $0.senders.removeValue(forKey: ObjectIdentifier(sender)) } }

    /// Lets all of them send what they hold.
    func sayFarewell() async {
        let senders = senders
        await withDiscardingTaskGroup { group in
            for sender in senders { group.addTask { await sender.sayFarewell() } }
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
