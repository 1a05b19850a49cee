import HoldfastTesting
import MachineCore
import ProtocolCore
import RoomCore
import RoomHistory

extension SimWorld {
    // MARK: Starts and ends

    func start(_ client: SimClient) {
        guard client.machine == nil, !client.isAway else { return }
        notify("\(client.who) starts")
        client.life += 1
        (client.jobs, client.storeIsFree, client.isVoiding) = ([], now, false)
        (client.waiting, client.failed, client.rooms) = ([], [], [:])
        noteStart(of: client)
        client.machine = RoomsMachine(policy: RoomsPolicy(), seed: random.next())
        client.due = nil
        feed(client, .calendar(calendar(of: client)))
        let waiting = client.store.rooms.filter { !$0.value.outbox.isEmpty }.keys.sorted()
        feed(client, .storeOpened(client.store.device, keeps: .max, waiting: waiting))
        for (room, request) in client.wantedRooms.sorted(by: { $0.key < $1.key }) {
            open(room, request, client)
            feed(client, .join(room, request))
        }
        agenda.plan(.client(client, life: client.life, .connect), at: now + jitter(300))
        agenda.plan(.client(client, life: client.life, .calendar), at: now + 5000)
        if isHostile { agenda.plan(.client(client, life: client.life, .acts), at: now + jitter(plan.actionEvery)) }
    }

    /// Kills a client's program.
    ///
    /// Some of the ordered transactions are on disk, although the program was not told.
    func kill(_ client: SimClient, restartIn delay: Int64) {
        guard client.machine != nil else { return }
        count(.clientDeaths)
        notify("\(client.who) dies")
        client.machine = nil
        (client.due, client.diesAfter) = (nil, nil)
        client.life += 1
        if !client.isVoiding {
            for job in client.jobs {
                guard case .commit(_, let changes) = job, !oneIn(2) else { break }
                commit(changes, of: client)
            }
        }
        client.jobs = []
        client.connection = nil
        if let link = client.link {
            client.link = nil
            link.isOpenAtClient = false
            if !link.isCut {
                cut(link)
            }
        }
        write(HistoryEvent(.died, who: client.who, at: now))
        agenda.plan(.startClient(client, life: client.life), at: now + delay)
    }

    func happen(_ event: ClientEvent, to client: SimClient) {
        switch event {
        case .connect: connect(client)
        case .storeWorks: workStore(of: client)
        case .storeFailed(let number, let full):
            client.jobs = client.jobs.map { if case .commit = $0 { .void } else { $0 } }
            client.isVoiding = false
            feed(client, .notCommitted(number, full: full))
        case .input(let input): feed(client, input)
        case .calendar:
            feed(client, .calendar(calendar(of: client)))
            agenda.plan(.client(client, life: client.life, .calendar), at: now + (isHostile ? 5000 : 20_000))
        case .acts:
            guard isHostile else { return }
            act(client)
            agenda.plan(.client(client, life: client.life, .acts), at: now + 1 + jitter(2 * plan.actionEvery))
        }
    }

    func calendar(of client: SimClient) -> Int64 { Self.epoch + absence + now + client.clock }

    // MARK: The machine

    func feed(_ client: SimClient, _ command: RoomsCommand) { feed(client, .command(command)) }

    func feed(_ client: SimClient, _ input: RoomsInput) {
        guard client.machine != nil else { return }
        notify("\(client.who) ← \(input)")
        var effects: [RoomsEffect] = []
        client.machine?.handle(input, at: moment, into: &effects)
        carryOut(effects, of: client)
    }

    func wake(_ client: SimClient) {
        var effects: [RoomsEffect] = []
        client.machine?.wake(at: moment, into: &effects)
        notify("\(client.who) wakes")
        let due = client.due
        carryOut(effects, of: client)
        if effects.isEmpty, client.due == due, let due, due <= now {
            broken("\(client.who) is woken, does nothing, and wants to be woken at the same time again")
            client.due = now + 1000
        }
    }

    private func carryOut(_ effects: [RoomsEffect], of client: SimClient) {
        for effect in effects {
            if let left = client.diesAfter {
                if left <= 0 {
                    count(.boundaries)
                    return kill(client, restartIn: 50 + jitter(2000))
                }
                client.diesAfter = left - 1
            }
            notify("\(client.who) → \(effect)")
            switch effect {
            case .send(let frame): if let link = client.link, link.isOpenAtClient { send(frame, on: link) }
            case .end(.reconnect(let after, _, _)):
                client.reconnectsAt = max(client.reconnectsAt, now + after.wholeMilliseconds)
                if let link = client.link { agenda.plan(.linkEnds(link, atClient: true), at: now) }
            case .event(.stopped(let refusal)): if !isHostile { broken("\(client.who) stops for good: \(refusal)") }
            case .end:
                client.reconnectsAt = max(client.reconnectsAt, now + 2000)
                if let link = client.link { agenda.plan(.linkEnds(link, atClient: true), at: now) }
            case .event(.load(let room)): order(.load(room), of: client)
            case .event(.commit(let number, let changes)): order(.commit(number, changes), of: client)
            case .event(.news(let news)): handle(news, client)
            case .event(.refused), .event(.unreadable), .event(.tokenWanted), .ready, .connect: break
            }
        }
        client.due = Self.milliseconds(client.machine?.deadline)
    }

    // MARK: The store

    private func order(_ job: SimClient.Job, of client: SimClient) {
        client.jobs.append(job)
        client.storeIsFree = max(client.storeIsFree, now + jitter(plan.disk))
        agenda.plan(.client(client, life: client.life, .storeWorks), at: client.storeIsFree)
    }

    private func workStore(of client: SimClient) {
        guard !client.jobs.isEmpty else { return }
        switch client.jobs.removeFirst() {
        case .void: break
        case .load(let room):
            if isHostile, now < client.isFullUntil, oneIn(2) {
                count(.clientLoads)
                return feed(client, .notLoaded(room))
            }
            lastTrouble = now
            let stored = client.store.rooms[room]?.stored ?? StoredRoom()
            load(stored, of: room, client)
            feed(client, .loaded(room, stored))
        case .commit(let number, let changes):
            if client.isVoiding { return }
            if isHostile, now < client.isFullUntil, !oneIn(3) {
                count(.clientDisk)
                client.isVoiding = true
                let event = ClientEvent.storeFailed(number, full: oneIn(2))
                return agenda.plan(.client(client, life: client.life, event), at: now + jitter(10))
            }
            commit(changes, of: client)
            feed(client, .committed(number))
        }
    }

    private func commit(_ changes: [StoreChange], of client: SimClient) {
        client.store.commit(changes)
        for fault in client.store.takeFaults() { broken("\(client.who): \(fault)") }
        for case .forget(let room) in changes {
            count(.forgotten)
            write(HistoryEvent(.forgot, who: client.who, at: now, room: room.text))
        }
    }
}
