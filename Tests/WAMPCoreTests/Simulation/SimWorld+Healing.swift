import MachineCore
import ProtocolCore

@testable import WAMPCore

// After the faults all requests must succeed, and at the end no state may be left.
extension SimWorld {
    func recover() {
        hasFaults = false
        for link in links.values { link.extraLatency = 0 }
        run(until: now + 120_000)
        for client in clients { checkRecovery(of: client) }
        guard violations.isEmpty else { return }
        probe()
        leaveAll()
    }

    private func checkRecovery(of client: SimClient) {
        let name = "client \(client.number)"
        if !client.isJoined { report("\(name) has not joined again") }
        if !client.requests.isEmpty { report("\(name): \(client.requests.keys.sorted()) have not ended") }
        for (handle, listener) in client.listeners.sorted(by: { $0.key < $1.key }) where !listener.isActive {
            report("\(name): the listener \(handle) of \(listener.key.uri) is not subscribed again")
        }
        for (handle, procedure) in client.procedures.sorted(by: { $0.key < $1.key }) where !procedure.isActive {
            report("\(name): the procedure \(handle) \(procedure.uri) is not registered again")
        }
        if !client.invocations.isEmpty { report("\(name): invocations are still running") }
        let sentUnsent = unsent.intersection(received).union(unsent.intersection(invoked.keys))
        if !sentUnsent.isEmpty { report("\(sentUnsent.sorted()) arrived, though their clients reported them as not sent") }
    }

    /// All clients publish to all topics and call all registered procedures.
    private func probe() {
        isProbing = true
        for client in clients { for topic in Self.topics { publish(client, topic, isProbe: true) } }
        let offered = Set(clients.flatMap { $0.procedures.values.map(\.uri) })
        for client in clients {
            for uri in offered.sorted() { call(client, uri.hasSuffix(".") ? uri + "some" : uri, CallOptions(timeout: .seconds(4))) }
        }
        run(until: now + 5000)
        for client in clients {
            if !client.requests.isEmpty { report("client \(client.number): \(client.requests.keys.sorted()) are not answered") }
            for (handle, listener) in client.listeners.sorted(by: { $0.key < $1.key }) {
                let missing = probes.filter { listener.key.covers($0.value) && !listener.received.contains($0.key) }.keys.sorted()
                if !missing.isEmpty { report("client \(client.number): \(handle) of \(listener.key.uri) did not receive \(missing)") }
            }
        }
        isProbing = false
    }

    /// All clients end their subscriptions and registrations, and then leave.
    private func leaveAll() {
        for client in clients {
            for handle in client.listeners.keys.sorted() { unsubscribe(client, handle) }
            for handle in client.procedures.keys.sorted() { unregister(client, handle) }
        }
        run(until: now + 5000)
        if let realm = router.realms.first ?? nil {
            if !realm.broker.held.isEmpty { report("subscriptions are left: \(realm.broker.held)") }
            if plan.historyLength == 0, !realm.broker.subscriptions.isEmpty {
                report("subscriptions are left: \(realm.broker.subscriptions.keys)")
            }
            let busy = realm.dealer.members.values.filter { !$0.offers.isEmpty || !$0.calls.isEmpty || !$0.invocations.isEmpty }
            if !realm.dealer.registrations.isEmpty || !busy.isEmpty || realm.dealer.deadline != nil {
                report("the dealer keeps \(realm.dealer.registrations.keys.sorted()) and \(busy)")
            }
        }
        if router.sessionCount != clients.count { report("\(router.sessionCount) sessions of \(clients.count) clients") }
        for client in clients where client.machine.waiting > 0 || client.machine.deadline != nil {
            report("client \(client.number) still has \(client.machine.waiting) pending requests")
        }
        guard violations.isEmpty else { return }
        for client in clients {
            client.hasLeft = true
            drive(client) { $0.handle(.command(.leave(reason: WAMPURI.Close.closeRealm)), at: $1, into: &$2) }
        }
        run(until: now + 20_000)
        guard violations.isEmpty else { return }
        if (router.realms.first ?? nil)?.dealer.isEmpty == false { report("the dealer remembers clients that have left") }
        if !router.peers.isEmpty || !router.sessions.isEmpty { report("sessions are left") }
        if router.deadline != nil { report("the router has a deadline") }
        for client in clients where client.isJoined || !client.isFinished || client.machine.deadline != nil {
            report("client \(client.number) has not left")
        }
    }
}
