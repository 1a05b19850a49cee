import MachineCore
import NIOCore
import WAMPCore
import WebSocketRuntime

/// Fault injection for tests, between clients and the machine.
extension RouterCore {
    /// Passes an input to the machine through the fault filter.
    func notifyThroughFaults(_ input: RouterInput, _ now: Moment) {
        switch input {
        case .received(let connection, let message): pass(.message(message), connection, isFromClient: true, now)
        case .undecodable(let connection, let error): pass(.undecodable(error), connection, isFromClient: true, now)
        case .closed(let connection):
            faults.handle(.closed(connection), at: now, into: &faultEffects)
            notify(input, now)
        default: notify(input, now)
        }
    }

    /// Passes a message through the fault filter.
    func pass(_ load: FaultMachine.Transfer.Load, _ connection: RouterConnection, isFromClient: Bool, _ now: Moment) {
        let passage = FaultMachine.Transfer(
            connection: connection, isFromClient: isFromClient, session: sessions[connection]?.id, load: load)
        faults.handle(.passing(passage), at: now, into: &faultEffects)
        performFaults(now)
    }

    /// Carries out the effects of faults.
    func performFaults(_ now: Moment) {
        let effects = faultEffects
        faultEffects.removeAll(keepingCapacity: true)
        for effect in effects {
            switch effect {
            case .pass(let passage): passed(passage, now)
            case .cut(let connection): host.put(.abort(connection), for: connection)
            case .over(let number): onOver.removeValue(forKey: number)?.finish()
            }
        }
    }

    private func passed(_ passage: FaultMachine.Transfer, _ now: Moment) {
        let connection = passage.connection
        switch passage.load {
        case .message(let message):
            if passage.isFromClient { notify(.received(connection, message), now) } else { send(message, to: connection) }
        case .undecodable(let error): notify(.undecodable(connection, error), now)
        case .close(let closing): close(connection, closing)
        case .lost(let message): notifyLost(message, of: connection, now)
        case .again(let message): notifyAgain(message, of: connection, now)
        }
    }

    /// Revokes the registrations and subscriptions of this URI, on any thread.
    func revoke(_ uri: String, _ match: WAMPMatch, realm: String, reason: String) {
        host.loop.execute {
            self.host.take(self.machine.ids(of: uri, match, in: realm).map { .revoke(realm: realm, id: $0, reason: reason) })
        }
    }

    /// Adds a fault, on any thread; `over` is finished when the fault is over.
    func addFault(_ fault: RouterFault, _ over: AsyncStream<Never>.Continuation) -> UInt64 {
        let number = lastFault.withLockedValue { last in
            last += 1
            return last
        }
        host.loop.execute {
            // Faults have no effect once the router is gone.
            guard self.host.port(number: 0) != nil else { return over.finish() }
            self.onOver[number] = over
            self.handleFault(.add(fault, number: number))
        }
        return number
    }

    /// Passes an input to the fault filter, on any thread.
    func submitFault(_ input: FaultMachine.Input) { host.loop.execute { self.handleFault(input) } }

    private func handleFault(_ input: FaultMachine.Input) {
        host.turn { _, now in
            faults.handle(input, at: now, into: &faultEffects)
            performFaults(now)
            return []
        }
    }
}
