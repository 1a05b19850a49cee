import MachineCore

// "Opening": connections and their identity.
extension HubMachine {
    mutating func open(_ id: ConnectionID, from address: String, at now: Moment, into effects: inout [HubEffect]) {
        guard connections[id] == nil else { return }
        connections[id] = Connection(address: address)
        addresses[address, default: Party()].connections += 1
        alarms.cancel(.forgetAddress(address))
        if isStopping {
            end(id, Refusal(.stopping, retry: .reconnect, "the hub is stopping"), at: now, into: &effects)
        } else if addresses[address]?.connections ?? 0 > policy.address.connections {
            end(id, Refusal(.count, retry: .after(10_000), "too many connections of this address"), at: now, into: &effects)
        } else {
            alarms.set(.hello(id), at: now + policy.helloWithin)
        }
    }

    mutating func receive(_ frame: ClientFrame, bytes: Int, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard takesFrame(bytes: bytes, from: id, at: now, into: &effects) else { return }
        let (isGreeted, isKnown) = (connections[id]?.hello != nil, connections[id]?.identity != nil)
        switch frame {
        case .hello(let hello) where !isGreeted: greet(id, hello, at: now, into: &effects)
        case .hello: end(id, Refusal(.order, "a second hello"), at: now, into: &effects)
        case _ where !isGreeted: end(id, Refusal(.order, "the first frame is not hello"), at: now, into: &effects)
        case _ where !isKnown: hold(frame, bytes: bytes, of: id, at: now, into: &effects)
        default: act(on: frame, bytes: bytes, from: id, at: now, into: &effects)
        }
    }

    /// Handles an invalid publication: refuses it under its number, so that the client can void the number and continue.
    mutating func receive(
        unreadable envelope: PublicationEnvelope, _ text: String, bytes: Int, from id: ConnectionID, at now: Moment,
        into effects: inout [HubEffect]
    ) {
        guard takesFrame(bytes: bytes, from: id, at: now, into: &effects) else { return }
        guard connections[id]?.identity != nil else { return end(id, Refusal(.malformed, text), at: now, into: &effects) }
        let publication = Publication(cseq: envelope.cseq, id: MessageID(Bits128(high: 0, low: 0)), sent: 0, content: nil)
        publish(publication, flaw: text, bytes: Int64(max(bytes, 0)), in: envelope.room, from: id, at: now, into: &effects)
    }

    /// Handles an invalid presence, typing notice or signal: refuses it and keeps the connection.
    mutating func receive(
        unheard name: RoomName, _ text: String, bytes: Int, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]
    ) {
        guard takesFrame(bytes: bytes, from: id, at: now, into: &effects) else { return }
        guard connections[id]?.identity != nil else { return end(id, Refusal(.malformed, text), at: now, into: &effects) }
        guard member(id, in: name, with: [], into: &effects) != nil else { return }
        say(Refusal(.malformed, room: name, text), to: id, into: &effects)
    }

    /// Returns whether to process a frame; if not, the connection is closed.
    private mutating func takesFrame(bytes: Int, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) -> Bool {
        let time = now.offset.wholeNanoseconds
        guard let wait = connections[id]?.frames.wait(for: 1, policy.frames, at: time) else { return false }
        guard wait == 0 else {
            end(id, Refusal(.rate, retry: .after(wait), "far too many frames"), code: 4003, at: now, into: &effects)
            return false
        }
        connections[id]?.frames.take(1, policy.frames, at: time)
        guard Int64(bytes) <= policy.limits.frame else {
            end(id, Refusal(.malformed, "the frame is too long"), at: now, into: &effects)
            return false
        }
        return true
    }

    private mutating func greet(_ id: ConnectionID, _ hello: ClientFrame.Hello, at now: Moment, into effects: inout [HubEffect]) {
        guard hello.versions.contains(RoomsLimits.version) else {
            return end(id, Refusal(.version, versions: [RoomsLimits.version], "no common version"), at: now, into: &effects)
        }
        connections[id]?.hello = hello
        let number = nextNumber()
        connections[id]?.greeted = number
        greetings[hello.device, default: Greeting()].count += 1
        effects.append(.authenticate(id, token: hello.token))
    }

    /// Keeps a frame until the client is authenticated.
    private mutating func hold(_ frame: ClientFrame, bytes: Int, of id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let connection = connections[id], connection.held.count < policy.heldFrames, bytes <= policy.heldBytes - connection.heldBytes
        else {
            return end(id, Refusal(.rate, retry: .after(1000), "too many frames before the welcome"), code: 4003, at: now, into: &effects)
        }
        connections[id]?.held.append((frame, bytes))
        connections[id]?.heldBytes += max(bytes, 0)
    }

    private mutating func act(on frame: ClientFrame, bytes: Int, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        switch frame {
        case .hello: break
        case .auth(let token): renew(id, token: token, at: now, into: &effects)
        case .join(let join): self.join(join, from: id, at: now, into: &effects)
        case .leave(let room):
            detach(id, from: room, isLost: false, at: now, into: &effects)
        case .publish(let room, let publication):
            publish(publication, bytes: Int64(max(bytes, 0)), in: room, from: id, at: now, into: &effects)
        case .read(let room, let seq): read(room, upTo: seq, from: id, at: now, into: &effects)
        case .history(let question): history(question, from: id, at: now, into: &effects)
        case .presence(let room, let presence): set(presence, in: room, from: id, at: now, into: &effects)
        case .members(let room): notifyMembers(of: room, to: id, at: now, into: &effects)
        case .typing(let room, let isTyping): type(isTyping, in: room, from: id, at: now, into: &effects)
        case .signal(let room, let signal): self.signal(signal, in: room, from: id, at: now, into: &effects)
        case .ping(let number):
            if connections[id]?.isCongested == false { effects.append(.send(.pong(number, now: clock(at: now)), to: id)) }
        }
    }

    // MARK: Identity

    mutating func identify(_ id: ConnectionID, as identity: Identity, at now: Moment, into effects: inout [HubEffect]) {
        guard let connection = connections[id], let hello = connection.hello else { return }
        if let expires = identity.expires, expires <= clock(at: now) {
            return decline(id, Refusal(.expired, retry: .reconnect, "the token has ended"), at: now, into: &effects)
        }
        if let known = connection.identity {
            guard connection.isRenewing else { return }
            connections[id]?.isRenewing = false
            guard known.user == identity.user else {
                return end(id, Refusal(.token, "the token belongs to another user"), at: now, into: &effects)
            }
            connections[id]?.identity = identity
            setExpiry(of: id, at: now)
            effects.append(.send(.renewed(expires: identity.expires ?? 0), to: id))
            // Most new tokens have the same grants as before.
            guard known.grants != identity.grants else { return }
            takeJoins(Int64(connection.rooms.count / 50), of: id, at: now)
            return review(id, at: now, into: &effects)
        }
        let user = identity.user
        let device = OwnedDevice(user, hello.device)
        // The newer of two connections is the one that said hello later. It may have closed already.
        guard greetings[hello.device]?.latest[user] ?? 0 < connection.greeted else {
            return close(id, code: 4000, "a newer connection of this device", at: now, into: &effects)
        }
        if let older = devices[device]?.connection {
            close(older, code: 4000, "a newer connection of this device", at: now, into: &effects)
        }
        guard users[user]?.connections ?? 0 < policy.user.connections else {
            return end(id, Refusal(.count, retry: .after(10_000), "too many connections of this user"), at: now, into: &effects)
        }
        users[user, default: Party()].connections += 1
        alarms.cancel(.forgetUser(user))
        let name = devices[device]?.name ?? Hexadecimal.digits(chance.next())
        devices[device, default: PresentDevice(name: name)].connection = id
        let held = connection.held
        connections[id]?.identity = identity
        endGreeting(of: connection, by: user)
        connections[id]?.name = name
        connections[id]?.held = []
        alarms.cancel(.hello(id))
        setExpiry(of: id, at: now)
        let welcome = HubFrame.Welcome(
            version: RoomsLimits.version, connection: name, user: user, now: clock(at: now), expires: identity.expires ?? 0,
            window: RoomsLimits.window, limits: policy.limits)
        effects.append(.send(.welcome(welcome), to: id))
        for join in hello.joins where connections[id] != nil { self.join(join, from: id, at: now, into: &effects) }
        connections[id]?.hello?.joins = []
        connections[id]?.hello?.token = nil
        for (frame, bytes) in held where connections[id] != nil { act(on: frame, bytes: bytes, from: id, at: now, into: &effects) }
    }

    /// Ends the greeting phase of a connection, which is authenticated or has closed.
    private mutating func endGreeting(of connection: Connection, by user: UserName?) {
        guard let device = connection.hello?.device, var greeting = greetings.removeValue(forKey: device), greeting.count > 1 else {
            return
        }
        greeting.count -= 1
        if let user { greeting.latest[user] = connection.greeted }
        greetings[device] = greeting
    }

    mutating func decline(_ id: ConnectionID, _ refusal: Refusal, at now: Moment, into effects: inout [HubEffect]) {
        guard let connection = connections[id], connection.hello != nil else { return }
        guard connection.identity != nil else { return end(id, refusal, at: now, into: &effects) }
        // The previous token stays valid until it expires.
        guard connection.isRenewing else { return }
        connections[id]?.isRenewing = false
        say(refusal, to: id, into: &effects)
    }

    private mutating func renew(_ id: ConnectionID, token: String, at now: Moment, into effects: inout [HubEffect]) {
        guard connections[id]?.isRenewing == false, admit(by: id, at: now) == 0 else {
            return say(Refusal(.rate, retry: .after(1000), "a token is being checked, or there were too many"), to: id, into: &effects)
        }
        connections[id]?.isRenewing = true
        effects.append(.authenticate(id, token: token))
    }

    mutating func setExpiry(of id: ConnectionID, at now: Moment) {
        guard let identity = connections[id]?.identity, let expires = identity.expires else { return alarms.cancel(.expiry(id)) }
        let left = min(max(expires, 0), RoomsLimits.number) - clock(at: now)
        alarms.set(.expiry(id), at: now + .milliseconds(max(left, 0)))
    }

    mutating func expire(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        end(id, Refusal(.expired, retry: .reconnect, "the token has ended"), at: now, into: &effects)
    }

    // MARK: Ending

    /// Sends a refusal and closes the connection with the matching close code.
    mutating func end(_ id: ConnectionID, _ refusal: Refusal, code: UInt16? = nil, at now: Moment, into effects: inout [HubEffect]) {
        guard connections[id] != nil else { return }
        say(refusal, to: id, into: &effects)
        let closing: UInt16 =
            switch refusal.code {
            case .malformed, .order: 4100
            case .version: 4106
            case .token: 4101
            case .expired: 4001
            case .count, .rate: 4003
            case .stopping: 4004
            default: 4001
            }
        close(id, code: code ?? closing, refusal.text, at: now, into: &effects)
    }

    mutating func close(_ id: ConnectionID, code: UInt16, _ reason: String, at now: Moment, into effects: inout [HubEffect]) {
        guard connections[id] != nil else { return }
        effects.append(.close(id, code: code, reason: reason))
        drop(id, at: now, into: &effects)
    }

    /// Removes a connection; its device stays present in its rooms for a while.
    mutating func drop(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let connection = connections[id] else { return }
        connections[id]?.line = []
        for number in reads.drop(id) { questions[number] = nil }
        for room in connection.rooms.sorted() { detach(id, from: room, isLost: true, at: now, into: &effects) }
        connections[id] = nil
        for alarm in [Alarm.hello(id), .expiry(id), .slow(id)] { alarms.cancel(alarm) }
        if let time = Self.leave(&addresses[connection.address], at: now) { alarms.set(.forgetAddress(connection.address), at: now + time) }
        guard let user = connection.identity?.user, let hello = connection.hello else { return endGreeting(of: connection, by: nil) }
        let device = OwnedDevice(user, hello.device)
        users[user]?.questions -= connection.questions
        if let time = Self.leave(&users[user], at: now) { alarms.set(.forgetUser(user), at: now + time) }
        guard let presentee = devices[device], presentee.connection == id else { return }
        if presentee.lingering.isEmpty {
            devices[device] = nil
        } else {
            devices[device]?.connection = nil
            alarms.set(.grace(device), at: now + policy.grace)
        }
    }

    /// Records that a party has one connection less; returns how long to remember the party, or nil if it need not be remembered.
    ///
    /// A party without connections is remembered until its buckets are full again, so that a reconnect gives no new budget.
    private static func leave(_ party: inout Party?, at now: Moment) -> Duration? {
        party?.connections -= 1
        guard let left = party, left.connections <= 0 else { return nil }
        let time = left.meter.full - now.offset.wholeNanoseconds
        if time <= 0 { party = nil }
        return time > 0 ? .nanoseconds(time) : nil
    }
}
