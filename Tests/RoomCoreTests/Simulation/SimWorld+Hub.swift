import MachineCore
import ProtocolCore
import RoomCore
import RoomHistory

extension SimWorld {
    // MARK: Starts and ends

    func startHub() {
        guard hub.machine == nil else { return }
        notify("hub starts")
        hub.life += 1
        lastTrouble = now
        (hub.jobs, hub.logIsFree, hub.links) = ([], now, [:])
        hub.machine = HubMachine(
            policy: plan.hub, node: "hub", incarnation: UInt64(hub.life), seed: random.next(),
            proofs: ProofKey(Bits128(high: seed, low: 1)))
        hub.log.clock = LogClock(hub.log.clock.record)
        readCalendar()
        agenda.plan(.hub(life: hub.life, .calendar), at: now + 5000)
    }

    /// The hub reads its calendar, and so does its log.
    func readCalendar() {
        guard hub.machine != nil else { return }
        hub.log.clock.read(calendar: hubCalendar, ran: absence + now, holdsNothing: hub.log.holdsNothing)
        if hub.log.clock.doubt != nil { count(.doubts) }
        feedHub(.log(.time(hub.log.clock.time)))
        feedHub(.calendar(hubCalendar))
    }

    /// Kills the hub's program.
    ///
    /// Some of the ordered appends are on disk, although no one was told.
    func killHub(restartIn delay: Int64) {
        guard hub.machine != nil else { return }
        count(.hubDeaths)
        notify("hub dies")
        for case .order(let order) in hub.jobs {
            guard case .append = order else { continue }
            if oneIn(2) { break }
            _ = carryOutLog(order)
        }
        closeHub(restartIn: delay)
    }

    private func closeHub(restartIn delay: Int64) {
        hub.machine = nil
        (hub.due, hub.diesAfter) = (nil, nil)
        hub.life += 1
        hub.jobs = []
        hub.log.close()
        for link in hub.links.values.sorted(by: { $0.id < $1.id }) {
            link.isOpenAtHub = false
            cut(link)
        }
        hub.links = [:]
        agenda.plan(.startHub(life: hub.life), at: now + delay)
    }

    func happenToHub(_ event: HubEvent) {
        switch event {
        case .logWorks: workLog()
        case .input(let input): feedHub(input)
        case .calendar:
            readCalendar()
            agenda.plan(.hub(life: hub.life, .calendar), at: now + (isHostile ? 5000 : 20_000))
        case .stopped:
            notify("hub has stopped")
            closeHub(restartIn: 100 + jitter(3000))
        }
    }

    var hubCalendar: Int64 { Self.epoch + absence + now + hub.clock }
    func newEpoch() -> UInt64 { random.next() | 1 }

    // MARK: The machine

    func feedHub(_ input: HubInput) {
        guard hub.machine != nil else { return }
        notify("hub ← \(input)")
        var effects: [HubEffect] = []
        hub.machine?.handle(input, at: moment, into: &effects)
        carryOutHub(effects)
    }

    func wakeHub() {
        var effects: [HubEffect] = []
        hub.machine?.wake(at: moment, into: &effects)
        notify("hub wakes")
        let due = hub.due
        carryOutHub(effects)
        if effects.isEmpty, hub.due == due, let due, due <= now {
            broken("the hub is woken, does nothing, and wants to be woken at the same time again")
            hub.due = now + 1000
        }
    }

    private func carryOutHub(_ effects: [HubEffect]) {
        for effect in effects {
            if let left = hub.diesAfter {
                if left <= 0 {
                    count(.boundaries)
                    return killHub(restartIn: 50 + jitter(3000))
                }
                hub.diesAfter = left - 1
            }
            notify("hub → \(effect)")
            switch effect {
            case .send(let frame, let id):
                note(frame)
                guard let link = hub.links[id] else { continue }
                if case .state(let state) = frame { noteFence(state, to: link) }
                send(frame, on: link)
            case .fanOut(let frame, let ids): for id in ids { if let link = hub.links[id] { send(frame, on: link) } }
            case .close(let id, let code, _):
                guard let link = hub.links[id] else { continue }
                sendDown(.end(code), on: link)
                agenda.plan(.linkEnds(link, atClient: false), at: now + jitter(200))
            case .authenticate(let id, _):
                guard let link = hub.links[id] else { continue }
                let input = HubInput.identified(id, Identity(user: link.client.user, grants: grants(), expires: tokenEnd()))
                agenda.plan(.hub(life: hub.life, .input(input)), at: now + jitter(30))
            case .log(let order):
                hub.jobs.append(.order(order))
                planLog()
            case .notify(let message): agenda.plan(.hub(life: hub.life, .input(.heard(message))), at: now + jitter(5))
            case .answer(let request, let answer): answered(request, answer)
            case .rewound(let place, let room):
                if hub.rewoundUnnoticed.contains(room) {
                    count(.found)
                } else {
                    broken("the hub takes \(room) for one that went back to \(place)")
                }
            }
        }
        hub.due = Self.milliseconds(hub.machine?.deadline)
    }

    /// All rights, except for users whose rights are revoked for a while.
    private func grants() -> [Grant] {
        guard isHostile, plan.faults.contains(.rights), oneIn(4) else { return [Grant("*", .member)] }
        count(.rights)
        return rooms.map { Grant($0.text, RoomRights(rawValue: UInt8(jitter(8)))) }
    }

    /// The expiry of a token.
    ///
    /// Most tokens do not expire.
    private func tokenEnd() -> Int64? {
        guard isHostile, plan.faults.contains(.tokenEnds), oneIn(2) else { return nil }
        return hubCalendar + 200 + jitter(5000)
    }

    private func note(_ frame: HubFrame) {
        switch frame {
        case .acks(_, _, let acks):
            count(.acks, Int64(acks.count))
            count(.duplicates, Int64(acks.count { $0.isDuplicate }))
        case .hole: count(.holes)
        case .lag: count(.lags)
        case .state(let state):
            presenceChanged = max(presenceChanged, now)
            count(state.isSnapshot ? .snapshots : .resumes)
            if state.hasMore { count(.pages) }
        case .refusal(let refusal):
            count(.refusals)
            if refusal.code == .expired { count(.ends) }
        default: break
        }
    }

    // MARK: The log

    func planLog() {
        hub.logIsFree = max(hub.logIsFree, now + jitter(plan.disk))
        agenda.plan(.hub(life: hub.life, .logWorks), at: hub.logIsFree)
    }

    private func workLog() {
        guard !hub.jobs.isEmpty else { return }
        switch hub.jobs.removeFirst() {
        case .reply(let reply): feedHub(.log(reply))
        case .order(let order):
            var reply = isHostile && now < hub.failsUntil && oneIn(2) ? failure(of: order) : nil
            if isHostile, now < hub.readsFailUntil, oneIn(2) { reply = order.isReading ? failure(of: order) : reply }
            let answer = reply ?? carryOutLog(order)
            for fault in hub.log.takeFaults() { broken(fault) }
            if let answer { feedHub(.log(answer)) }
        }
    }

    private func carryOutLog(_ order: LogOrder) -> LogReply? {
        if case .append(let room, _, let records) = order, hub.log.rooms[room]?.isDoubtful == false { judgeFence(records, in: room) }
        if case .renew(let name) = order, let room = hub.log.rooms[name] {
            writeLog(name, room)
            hub.lines[name, default: []].append(room)
            hub.rewoundUnnoticed.remove(name)
        }
        return hub.log.carryOut(order, epoch: newEpoch())
    }

    /// The answer of a failing disk.
    ///
    /// After a failed append it is unknown whether the entries are on disk.
    private func failure(of order: LogOrder) -> LogReply? {
        switch order {
        case .open(let room), .renew(let room): return .notOpened(room)
        case .recall(let room, let device): return .notRecalled(room, device)
        case .append(let room, let batch, _):
            count(.hubDisk)
            if oneIn(2) { _ = carryOutLog(order) }
            hub.log.rooms[room]?.isDoubtful = true
            return .notAppended(room, batch: batch)
        case .fetchAfter(let number, _, _, _, _), .fetchBefore(let number, _, _, _, _), .find(let number, _, _, _):
            count(.hubReads)
            return .notFetched(number)
        case .mark, .release: return nil
        }
    }
}

extension LogOrder {
    /// Whether the order only reads from an open room.
    fileprivate var isReading: Bool {
        switch self {
        case .fetchAfter, .fetchBefore, .find, .recall: true
        case .open, .renew, .append, .mark, .release: false
        }
    }
}
