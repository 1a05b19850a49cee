import CodecCore
import MachineCore
import ProtocolCore

@testable import WAMPCore

extension SimWorld {
    // MARK: Clients

    func connect(_ client: SimClient) {
        guard client.link == nil, !client.hasLeft else { return }
        client.isConnecting = false
        if client.isFinished { renew(client) }
        guard isRouterUp else { return reconnect(client) }
        lastConnection += 1
        let serialization = pick(WAMPSerialization.allCases) ?? .json
        let link = SimLink(RouterConnection(lastConnection), client, routerLife: routerLife, serialization)
        links[link.connection] = link
        client.link = link
        sendUp(link, .open)
        drive(client) { $0.handle(.opened([:]), at: $1, into: &$2) }
    }

    func reconnect(_ client: SimClient) {
        guard !client.isConnecting, !client.hasLeft else { return }
        client.isConnecting = true
        agenda.plan(.connect(client), at: now + 20 + jitter(hasFaults ? 1500 : 200))
    }

    /// Passes an input to a client's machine and performs its effects.
    func drive(_ client: SimClient, _ body: (inout ClientMachine, Moment, inout [ClientEffect]) -> Void) {
        var effects: [ClientEffect] = []
        body(&client.machine, moment, &effects)
        let life = client.life
        for effect in effects where client.life == life { follow(effect, of: client) }
    }

    private func follow(_ effect: ClientEffect, of client: SimClient) {
        switch effect {
        case .send(let message):
            notify("client \(client.number) → \(message)")
            guard let link = client.link else { return report("client \(client.number) sends \(message) without a connection") }
            if case .publish(_, _, _, let arguments) = message, let id = SimPayload(arguments)?.id { origins[id] = link.connection.number }
            sendUp(link, .message(carried(message, link)))
        case .event(.challenged(let handle, let method, _)):
            count(.challenges)
            let answer =
                oneIn(8) && hasFaults
                ? ClientCommand.unproven(handle, "no ticket") : .proven(handle, signature: "ticket of \(method)", extra: [:])
            agenda.plan(.input(client, life: client.life, .command(answer)), at: now + jitter(100))
        case .event(.welcomed(let handle, _)):
            agenda.plan(.input(client, life: client.life, .command(.checked(handle, isGenuine: true))), at: now + jitter(20))
        case .event(.ended(let ending)): drop(client, ending)
        case .end, .ready, .connect: break
        case .event(let news): handle(news, client)
        }
    }

    private func drop(_ client: SimClient, _ ending: ClientEnding) {
        notify("client \(client.number) drops: \(ending)")
        if case .violation(let how) = ending { report("client \(client.number) reports a violation by the router: \(how)") }
        if let link = client.link {
            link.isOpenAtClient = false
            sendUp(link, .end)
            client.link = nil
        }
        client.isFinished = ending.isFinal
        agenda.plan(.input(client, life: client.life, .lost), at: now)
        reconnect(client)
    }

    /// The app makes a new machine; all requests of the last one must have ended.
    private func renew(_ client: SimClient) {
        let left = client.requests.keys.sorted() + client.listeners.keys.sorted() + client.procedures.keys.sorted()
        if !left.isEmpty { report("client \(client.number) has ended, and its handles \(left) have not") }
        client.life += 1
        client.machine = ClientMachine(policy: SimClient.policy(client.number), seed: random.next())
        (client.isFinished, client.isJoined) = (false, false)
        (client.invocations, client.inParts) = ([:], [])
    }

    // MARK: The router

    /// Passes an input to the router's machine and performs its effects.
    func drive(_ body: (inout RouterMachine, Moment, inout [RouterEffect]) -> Void) {
        var effects: [RouterEffect] = []
        body(&router, moment, &effects)
        for effect in effects { follow(effect) }
    }

    private func follow(_ effect: RouterEffect) {
        switch effect {
        case .send(let message, let connection): deliver(message, to: connection)
        case .sendToAll(let message, let connections): for connection in connections { deliver(message, to: connection) }
        case .examine(let connection, let credentials):
            let verdict: RouterVerdict =
                switch credentials {
                case .hello(_, let details):
                    plan.isChallenged
                        ? .challenged(method: "ticket", extra: [:])
                        : .accepted(RouterPrincipal(authID: details["authid"]?.string, authRole: "user"))
                case .answer(let signature, _):
                    signature == "ticket of ticket"
                        ? .accepted(RouterPrincipal(authRole: "user", authMethod: "ticket"))
                        : .refused(reason: WAMPURI.Error.authenticationFailed, message: "no")
                }
            agenda.plan(.verdict(connection, verdict, routerLife: routerLife), at: now + jitter(30))
        case .close(let connection, let closing):
            guard let link = links[connection], link.isOpenAtRouter else { return report("the router closes a closed connection") }
            notify("router closes \(connection.number): \(closing)")
            link.isOpenAtRouter = false
            sendDown(link, .end)
        case .news(.violation(let connection, let how)): report("client at \(connection.number) violates the protocol: \(how)")
        case .news(let news):
            notify("router: \(news)")
            if news == .stopped { killRouter() }
        }
    }

    private func deliver(_ message: WAMPMessage, to connection: RouterConnection) {
        guard let link = links[connection], link.isOpenAtRouter else { return report("the router sends \(message) to nobody") }
        notify("router → \(link.client.number): \(message)")
        sendDown(link, .message(carried(message, link)))
    }

    /// The message as it arrives, encoded and decoded.
    private func carried(_ message: WAMPMessage, _ link: SimLink) -> WAMPMessage {
        guard let bytes = try? message.encoded(as: link.serialization), let read = try? wampMessage(bytes, link.serialization),
            read == message
        else {
            report("\(message.debugDescription) is not decoded to the same in \(link.serialization)")
            return message
        }
        return read
    }

    // MARK: Links

    /// Sends an item to the router.
    private func sendUp(_ link: SimLink, _ item: SimLink.Item) {
        link.lastUp = max(link.lastUp, now + 1 + jitter(plan.latency) + link.extraLatency)
        agenda.plan(.arrivesAtRouter(link, item), at: link.lastUp)
    }

    /// Sends an item to the client.
    private func sendDown(_ link: SimLink, _ item: SimLink.Item) {
        link.lastDown = max(link.lastDown, now + 1 + jitter(plan.latency) + link.extraLatency)
        agenda.plan(.arrivesAtClient(link, item), at: link.lastDown)
    }

    func arriveAtRouter(_ link: SimLink, _ item: SimLink.Item) {
        guard isRouterUp, link.routerLife == routerLife, !link.isCut else { return }
        switch item {
        case .open:
            link.isOpenAtRouter = true
            drive { $0.handle(.opened(link.connection, transport: ["type": "memory"]), at: $1, into: &$2) }
        case .message(let message):
            guard link.isOpenAtRouter else { return }
            drive { $0.handle(.received(link.connection, message), at: $1, into: &$2) }
        case .end: endAtRouter(link)
        }
    }

    func arriveAtClient(_ link: SimLink, _ item: SimLink.Item) {
        guard link.isOpenAtClient, link.client.link === link, !link.isCut else { return }
        switch item {
        case .open: break
        case .message(let message): drive(link.client) { $0.handle(.received(message), at: $1, into: &$2) }
        case .end: endAtClient(link)
        }
    }

    func endAtRouter(_ link: SimLink) {
        guard link.isOpenAtRouter, link.routerLife == routerLife else { return }
        link.isOpenAtRouter = false
        drive { $0.handle(.closed(link.connection), at: $1, into: &$2) }
    }

    func endAtClient(_ link: SimLink) {
        guard link.isOpenAtClient, link.client.link === link else { return }
        notify("client \(link.client.number) loses its connection")
        link.isOpenAtClient = false
        link.client.link = nil
        drive(link.client) { $0.handle(.lost, at: $1, into: &$2) }
        reconnect(link.client)
    }
}
