import ProtocolCore
import RoomCore

extension SimWorld {
    func connect(_ client: SimClient) {
        guard client.link == nil, !client.isAway else { return }
        if hub.machine == nil || now < client.reconnectsAt {
            let due = max(client.reconnectsAt, now + 200 + jitter(1000))
            return agenda.plan(.client(client, life: client.life, .connect), at: due)
        }
        lastLink += 1
        count(.connections)
        let link = SimLink(id: ConnectionID(lastLink), client: client)
        if isHostile, plan.faults.contains(.slowLink), oneIn(6) { link.extraDelay = jitter(400) }
        client.link = link
        sendUp(.open, on: link)
    }

    // MARK: In flight

    func send(_ frame: ClientFrame, on link: SimLink) {
        guard plan.usesJSON else { return sendUp(.frame(frame, bytes: 100), on: link) }
        let json = frame.json()
        let read = json.withUnsafeBytes { bytes in (try? ClientFrame.decode(json: bytes)) ?? nil }
        if read != frame { broken("JSON makes \(String(describing: read)) of \(frame)") }
        sendUp(.frame(frame, bytes: json.count), on: link)
    }

    func send(_ frame: HubFrame, on link: SimLink) {
        if plan.usesJSON {
            let read = frame.json().withUnsafeBytes { bytes in (try? HubFrame.decode(json: bytes)) ?? nil }
            if read != frame { broken("JSON makes \(String(describing: read)) of \(frame)") }
        }
        sendDown(.frame(frame), on: link)
    }

    func sendUp(_ item: SimLink.Up, on link: SimLink) {
        guard !link.isCut, !link.up.swallows else { return count(.lostFrames) }
        agenda.plan(.landsAtHub(link), at: link.up.send(item, at: now + 1 + link.extraDelay + jitter(plan.latency)))
    }

    func sendDown(_ item: SimLink.Down, on link: SimLink) {
        // The handshake always succeeds. It has its own deadline, which this simulation does not test.
        var isHandshake = false
        if case .open = item { isHandshake = true }
        guard !link.isCut, isHandshake || !link.down.swallows else { return count(.lostFrames) }
        agenda.plan(.landsAtClient(link), at: link.down.send(item, at: now + 1 + link.extraDelay + jitter(plan.latency)))
        if plan.overtakes { count(.overtaken, link.down.overtake { mayPass($0, $1) && !oneIn(4) }) }
        if link.down.flights.count > plan.congestion, !link.isCongested, link.isOpenAtHub {
            link.isCongested = true
            count(.congested)
            agenda.plan(.hub(life: hub.life, .input(.congested(link.id))), at: now)
        }
    }

    /// Whether a frame overtakes another in the hub's lanes: acks before waiting entries, presence and signals before stored frames.
    private func mayPass(_ item: SimLink.Down, _ other: SimLink.Down) -> Bool {
        guard case .frame(let frame) = item, case .frame(let before) = other else { return false }
        // Nothing goes before the welcome.
        if case .welcome = before { return false }
        if frame.isEphemeral { return !before.isEphemeral }
        if case (.acks, .entries) = (frame, before) { return true }
        return false
    }

    func landAtHub(_ link: SimLink) {
        // Frames on a cut link do not arrive.
        guard let flight = link.up.flights.first, flight.lands <= now else { return }
        link.up.flights.removeFirst()
        switch flight.item {
        case .open:
            guard hub.machine != nil else { return end(link, atClientIn: jitter(50)) }
            link.isOpenAtHub = true
            // The hub sends nothing to a link that has not sent its hello.
            if isHostile, plan.faults.contains(.halfOpen), oneIn(6) { halfOpen(link) }
            hub.links[link.id] = link
            sendDown(.open, on: link)
            feedHub(.opened(link.id, address: "192.0.2.\(link.id.number % 3)"))
        case .frame(let frame, let bytes):
            guard link.isOpenAtHub else { return }
            noteFence(frame, on: link)
            if let envelope = unreadable(frame) {
                count(.unreadable)
                return feedHub(.unreadable(link.id, envelope, "nobody can read it", bytes: bytes))
            }
            feedHub(.received(link.id, frame, bytes: bytes))
        case .end: endAtHub(link)
        }
    }

    /// Some messages are invalid in every send.
    ///
    /// The hub can read only their room and number.
    private func unreadable(_ frame: ClientFrame) -> PublicationEnvelope? {
        guard case .publish(let room, let publication) = frame, publication.content != nil, publication.id.bits.low % 97 == 0 else {
            return nil
        }
        return PublicationEnvelope(room: room, cseq: publication.cseq)
    }

    func landAtClient(_ link: SimLink) {
        guard let flight = link.down.flights.first, flight.lands <= now else { return }
        link.down.flights.removeFirst()
        if link.isCongested, link.down.flights.isEmpty {
            link.isCongested = false
            if link.isOpenAtHub { agenda.plan(.hub(life: hub.life, .input(.drained(link.id))), at: now) }
        }
        guard link.isOpenAtClient else { return }
        switch flight.item {
        case .open: feed(link.client, RoomsInput.opened(RoomsGreeting(token: "dev:\(link.client.user)")))
        case .frame(let frame): feed(link.client, RoomsInput.received(frame))
        case .end(let code):
            notify("\(link.client.who) closed by the hub with \(code)")
            // A replaced client does not reconnect by itself. The app does so after a while.
            if code == 4000 {
                count(.replaced)
                link.client.reconnectsAt = now + 3000 + jitter(5000)
            }
            endAtClient(link)
        }
    }

    // MARK: Ends

    /// Loses frames in flight, in each direction from another point on.
    ///
    /// Both sides see the end some time later.
    func cut(_ link: SimLink) {
        guard !link.isCut else { return }
        link.isCut = true
        count(.cuts)
        let lost = (up: jitter(Int64(link.up.flights.count) + 1), down: jitter(Int64(link.down.flights.count) + 1))
        link.up.flights.removeLast(Int(lost.up))
        link.down.flights.removeLast(Int(lost.down))
        count(.lostFrames, lost.up + lost.down)
        notify("link of \(link.client.who) is cut, \(lost) lost")
        let last = max(now, link.up.flights.last?.lands ?? 0, link.down.flights.last?.lands ?? 0)
        agenda.plan(.linkEnds(link, atClient: false), at: last + jitter(400))
        agenda.plan(.linkEnds(link, atClient: true), at: last + jitter(400))
    }

    /// Loses what is sent, in one direction or both, until each side's session notices the silence.
    ///
    /// Before the welcome no session notices it, because some have no pings.
    func halfOpen(_ link: SimLink) {
        guard !link.isCut, !link.up.swallows, !link.down.swallows else { return }
        count(.halfOpen)
        let isGreeting = link.client.connection == nil
        let which = isGreeting ? 2 : jitter(3)
        (link.up.swallows, link.down.swallows) = (which != 0, which != 1)
        notify("link of \(link.client.who) swallows")
        if isGreeting { return }
        let seen = 4000 + jitter(16_000)
        agenda.plan(.linkEnds(link, atClient: false), at: now + seen + jitter(4000))
        agenda.plan(.linkEnds(link, atClient: true), at: now + seen + jitter(4000))
    }

    func end(_ link: SimLink, atClientIn delay: Int64) {
        link.isCut = true
        agenda.plan(.linkEnds(link, atClient: true), at: now + delay)
    }

    func endAtClient(_ link: SimLink) {
        guard link.isOpenAtClient else { return }
        link.isOpenAtClient = false
        noteEnd(of: link)
        // The other side reads what was sent before the end.
        if link.isOpenAtHub, !link.isCut { sendUp(.end, on: link) }
        if link.up.swallows { agenda.plan(.linkEnds(link, atClient: false), at: now + 20_000) }
        guard link.client.link === link else { return }
        link.client.link = nil
        link.client.connection = nil
        guard link.client.machine != nil else { return }
        feed(link.client, .lost(unsent: []))
        agenda.plan(.client(link.client, life: link.client.life, .connect), at: now + 20 + jitter(isHostile ? 1500 : 300))
    }

    func endAtHub(_ link: SimLink) {
        guard link.isOpenAtHub else { return }
        link.isOpenAtHub = false
        noteEnd(of: link)
        presenceChanged = max(presenceChanged, now + 10_000)
        hub.links[link.id] = nil
        // A side whose link was given up by the other notices that by its pings at the latest. There are none before the welcome.
        let isUnseen = link.down.swallows && link.client.link === link && link.client.connection == nil
        if link.isOpenAtClient, !isUnseen { agenda.plan(.linkEnds(link, atClient: true), at: now + jitter(300)) }
        feedHub(.gone(link.id))
    }

    private func noteEnd(of link: SimLink) { if link.up.swallows || link.down.swallows { lastTrouble = now } }
}
