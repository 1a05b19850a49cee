import MachineCore

@testable import WAMPCore

// The faults.
extension SimWorld {
    func injectFault() {
        guard let fault = pick(plan.faults) else { return }
        let open = links.values.filter { $0.isOpenAtClient && $0.client.link === $0 }.sorted { $0.connection.number < $1.connection.number }
        switch fault {
        case .cut:
            guard let link = pick(open) else { return }
            count(.cuts)
            cut(link, clientSees: jitter(200), routerSees: jitter(200))
        case .halfOpen:
            guard let link = pick(open) else { return }
            count(.halfOpen)
            cut(link, clientSees: jitter(6000), routerSees: jitter(9000))
        case .slowLink:
            guard let link = pick(open) else { return }
            count(.slowLinks)
            link.extraLatency = link.extraLatency > 0 ? 0 : jitter(1500)
        case .routerDies:
            guard isRouterUp else { return }
            count(.routerDeaths)
            killRouter()
        case .routerStops:
            guard isRouterUp else { return }
            count(.routerStops)
            drive { $0.handle(.stop, at: $1, into: &$2) }
        case .kill:
            guard isRouterUp, let session = pick(router.sessions.keys.sorted()) else { return }
            count(.kills)
            drive { $0.handle(.kill(session: session, reason: WAMPURI.Close.killed, message: nil), at: $1, into: &$2) }
        case .revoke:
            guard isRouterUp, let realm = router.realms.first ?? nil,
                let id = pick(realm.broker.subscriptions.keys.sorted() + realm.dealer.registrations.keys.sorted())
            else { return }
            count(.revocations)
            drive { $0.handle(.revoke(realm: "world", id: id, reason: "wamp.error.revoked"), at: $1, into: &$2) }
        case .reconnect:
            // The client's network changes: it reconnects before the router knows that the old connection is lost.
            guard let link = pick(open) else { return }
            count(.reconnects)
            cut(link, clientSees: 0, routerSees: jitter(9000))
        }
    }

    private func cut(_ link: SimLink, clientSees: Int64, routerSees: Int64) {
        guard !link.isCut else { return }
        link.isCut = true
        agenda.plan(.ends(link, atClient: true), at: now + clientSees)
        agenda.plan(.ends(link, atClient: false), at: now + routerSees)
    }

    /// The router loses its state and all messages in flight.
    func killRouter() {
        notify("the router is gone")
        (isRouterUp, routerLife) = (false, routerLife + 1)
        for link in links.values.sorted(by: { $0.connection.number < $1.connection.number }) where link.routerLife < routerLife {
            link.isOpenAtRouter = false
            if !link.isCut {
                link.isCut = true
                agenda.plan(.ends(link, atClient: true), at: now + jitter(100))
            }
        }
        agenda.plan(.routerStarts, at: now + 50 + jitter(3000))
    }

    func startRouter() {
        notify("the router starts")
        isRouterUp = true
        router = RouterMachine(policy: Self.policy(plan), seed: random.next())
    }
}
