import MachineCore
import ProtocolCore

/// Opening, the welcome, and the end of connections.
extension RoomsMachine {
    mutating func open(token: String?, at now: Moment, into effects: inout [RoomsEffect]) {
        if link.phase != .offline { lose(at: now, into: &effects) }
        guard device != nil, !ledger.pending.contains(where: \.isRenewal) else { return link.phase = .holding(token: token) }
        greet(token: token, at: now, into: &effects)
    }

    mutating func greet(token: String?, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let device else { return }
        link.isOneByOne = link.failedResumes >= policy.failedResumes
        link.phase = .greeting(until: now + policy.welcomeTimeout)
        (link.resuming, link.farewells, link.lone, link.nonsense, link.freshToken) = ([], [], nil, 0, nil)
        link.tokenPace = TokenPace()
        remind(at: now + policy.welcomeTimeout)
        var joins: [ClientFrame.Join] = []
        for place in seats.indices where !link.isOneByOne && mayJoin(place) && joins.count < policy.joinsInHello {
            joins.append(joinFrame(place))
            seats[place].standing = .asked(until: .distantFuture)
            seats[place].wasAsked = true
            link.resuming.insert(seats[place].room)
        }
        let hello = ClientFrame.Hello(
            versions: [RoomsLimits.version], device: device, token: token, agent: policy.agent, joins: joins)
        effects.append(.send(.hello(hello)))
    }

    mutating func welcome(_ welcome: HubFrame.Welcome, at now: Moment, into effects: inout [RoomsEffect]) {
        guard case .greeting = link.phase else { return nonsense(nil, at: now, into: &effects) }
        guard welcome.version == RoomsLimits.version else {
            return stop(Refusal(.version, versions: [welcome.version], "the hub speaks another version"), at: now, into: &effects)
        }
        link.phase = .welcomed
        effects.append(.ready)
        (link.user, link.connection, link.limits) = (welcome.user, welcome.connection, welcome.limits)
        link.lastState = now
        let first = !clock.knowsHub
        clock.heard(hub: welcome.now, at: now)
        if first {
            let clock = clock
            for place in seats.indices { seats[place].outbox.correct { clock.corrected($0, at: now) } }
        }
        effects.append(
            .news(.welcomed(welcome.user, connection: welcome.connection, limits: welcome.limits, expires: welcome.expires)))
        planToken(before: welcome.expires, at: now)
        if let token = link.freshToken {
            link.freshToken = nil
            effects.append(.send(.auth(token: token)))
        }
        for room in link.farewells { effects.append(.send(.leave(room))) }
        link.farewells = []
        if renewal != nil { awaitSettling(at: now) }
        for place in seats.indices {
            giveUpTooLong(place, into: &effects)
            if case .asked = seats[place].standing { seats[place].standing = .asked(until: now + policy.stateTimeout) }
            if link.isOneByOne, seats[place].suspicion > 0, mayJoin(place) {
                // One bad room must not keep the others out: they come first.
                let pause = min(policy.suspicion * seats[place].suspicion, policy.longestPause)
                seats[place].standing = .pausing(until: now + pause)
                remind(at: now + pause)
            }
        }
        remind(at: now + policy.stateTimeout)
        for place in seats.indices { enter(place, at: now, into: &effects) }
    }

    mutating func show(_ token: String, into effects: inout [RoomsEffect]) {
        switch link.phase {
        case .welcomed: effects.append(.send(.auth(token: token)))
        case .greeting: link.freshToken = token
        case .holding: link.phase = .holding(token: token)
        case .offline, .draining, .ended: break
        }
    }

    mutating func renewed(expires: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, let user = link.user else { return }
        effects.append(.news(.welcomed(user, connection: link.connection, limits: link.limits, expires: expires)))
        planToken(before: expires, at: now)
        // What was refused before may be granted now.
        for place in seats.indices {
            guard case .barred = seats[place].standing else { continue }
            seats[place].standing = .out
            enter(place, at: now, into: &effects)
        }
    }

    mutating func lose(at now: Moment, into effects: inout [RoomsEffect]) {
        drop(at: now, into: &effects)
        link.phase = .offline
    }

    /// Nothing of this connection counts any more.
    mutating func drop(at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.listens else { return link.phase = .ended }
        link.phase = .ended
        if !link.resuming.isEmpty { link.failedResumes += 1 }
        if let lone = link.lone, let place = places[lone] { seats[place].suspicion += 1 }
        (link.resuming, link.lone, link.tokenAt, isTight) = ([], nil, nil, false)
        renewal?.deadline = nil
        for place in seats.indices {
            seats[place].detach()
            seats[place].wasAsked = false
            clearMembers(place, into: &effects)
            if seats[place].typing.clear() { effects.append(.news(.typing(seats[place].room, []))) }
            if seats[place].store == .ready { tell(.waiting, of: place, into: &effects) }
        }
        for question in questions { giveUp(question, nil, at: now, into: &effects) }
        questions = []
    }

    /// Ends the connection; another one may come after so many milliseconds.
    mutating func breakOff(after milliseconds: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        breakOff(.again(after: .milliseconds(max(0, milliseconds))), at: now, into: &effects)
    }

    mutating func breakOff(_ end: ConnectionEnd, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.listens else { return }
        drop(at: now, into: &effects)
        effects.append(.end(end))
    }

    /// Ends all: another connection would be refused as well.
    private mutating func stop(_ refusal: Refusal, at now: Moment, into effects: inout [RoomsEffect]) {
        drop(at: now, into: &effects)
        effects.append(.event(.stopped(refusal)))
        effects.append(.end(.stop))
    }

    /// What the hub said makes no sense: the room is joined again, and if that goes on, the connection ends.
    mutating func nonsense(_ place: Int?, at now: Moment, into effects: inout [RoomsEffect]) {
        if now - link.nonsenseSince > .seconds(60) { (link.nonsense, link.nonsenseSince) = (0, now) }
        link.nonsense += 1
        guard link.nonsense < policy.nonsense else {
            return breakOff(.rejected("nothing of it makes sense"), at: now, into: &effects)
        }
        guard let place else { return }
        seats[place].standing = .behind
        goOn(place, at: now, into: &effects)
    }

    // MARK: The hub's words

    mutating func receive(_ frame: HubFrame, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.listens else { return }
        if case .greeting = link.phase {
            switch frame {
            case .welcome, .refusal, .goaway: break
            default: return nonsense(nil, at: now, into: &effects)
            }
        }
        switch frame {
        case .welcome(let words): welcome(words, at: now, into: &effects)
        case .renewed(let expires): renewed(expires: expires, at: now, into: &effects)
        case .state(let state): take(state, at: now, into: &effects)
        case .entries(let room, let epoch, let items, let proof): take(items, epoch: epoch, proof, in: room, at: now, into: &effects)
        case .acks(let room, let epoch, let acks): take(acks, epoch: epoch, in: room, at: now, into: &effects)
        case .hole(let room, let expected): fill(room, from: expected, at: now, into: &effects)
        case .lag(let room, let head): lag(room, head: head, at: now, into: &effects)
        case .page(let page): take(page, at: now, into: &effects)
        case .read(let room, let user, let seq): heardRead(room, [HubFrame.ReadMarker(user: user, seq: seq)], into: &effects)
        case .members(let word): take(word, at: now, into: &effects)
        case .typing(let room, let user, let types): heardTyping(room, user, types, at: now, into: &effects)
        case .signal(let room, let user, let connection, let signal):
            guard let place = places[room], seats[place].isAttached else { break }
            effects.append(.news(.signal(room, from: user, connection: connection, signal)))
        case .refusal(let refusal): refuse(refusal, at: now, into: &effects)
        case .pong(_, let time): clock.heard(hub: time, at: now)
        case .goaway(let words): goAway(words, at: now, into: &effects)
        }
        breakOffIfDrained(at: now, into: &effects)
    }

    mutating func goAway(_ words: HubFrame.Goaway, at now: Moment, into effects: inout [RoomsEffect]) {
        if case .draining = link.phase { return }
        // Some of the hub's time is left for the way.
        let drain = wait(words.drain) * 3 / 4
        link.phase = .draining(until: now + drain, back: now + min(.milliseconds(min(max(words.after, 0), 1 << 40)), policy.longestPause))
        remind(at: now + drain)
    }

    mutating func breakOffIfDrained(at now: Moment, into effects: inout [RoomsEffect]) {
        guard case .draining(let until, let back) = link.phase, inFlight == 0 || now >= until else { return }
        breakOff(after: (back - now).wholeMilliseconds, at: now, into: &effects)
    }

    mutating func refuse(_ refusal: Refusal, at now: Moment, into effects: inout [RoomsEffect]) {
        if let reference = refusal.reference, let index = questions.firstIndex(where: { $0.wire == reference }) {
            return giveUp(questions.remove(at: index), refusal, at: now, into: &effects)
        }
        guard let room = refusal.room else { return refuseAll(refusal, at: now, into: &effects) }
        if refusal.retry == .reconnect {
            if link.isUp { breakOff(after: 0, at: now, into: &effects) }
            return
        }
        guard let place = places[room], seats[place].isWanted, seats[place].store == .ready else { return }
        if let cseq = refusal.cseq { return refuse(cseq, refusal, of: place, at: now, into: &effects) }
        // What is malformed or too long is a status or a signal: no join is refused so.
        guard case .asked = seats[place].standing, refusal.code != .malformed, refusal.code != .size else {
            guard seats[place].standing == .live else { return }
            if refusal.code == .notJoined { nonsense(place, at: now, into: &effects) }
            // All rights may be gone, or only that to what was said: the answer to another join tells.
            if refusal.code == .rights {
                seats[place].standing = .behind
                goOn(place, at: now, into: &effects)
            }
            return
        }
        answered(place, at: now, into: &effects)
        switch refusal.retry {
        // What is full now will have places again: no limit is a verdict.
        case .never where refusal.code == .count: putOff(place, policy.crowdedPause.wholeMilliseconds, at: now)
        case .never:
            seats[place].standing = .barred(refusal)
            seats[place].isAttached = false
            tell(.refused(refusal), of: place, into: &effects)
        case .now: putOff(place, 0, at: now)
        case .after(let milliseconds): putOff(place, milliseconds, at: now)
        case .reconnect: break
        }
        joinNext(at: now, into: &effects)
    }

    /// The hub takes nothing of the kind on this connection.
    private mutating func refuseAll(_ refusal: Refusal, at now: Moment, into effects: inout [RoomsEffect]) {
        effects.append(.event(.refused(refusal)))
        var isGreeting = false
        if case .greeting = link.phase { isGreeting = true }
        switch refusal.retry {
        case .reconnect:
            // A hub that stops has said, or will say, when to come back.
            if isGreeting || refusal.code != .stopping { breakOff(after: 0, at: now, into: &effects) }
        case .never where isGreeting && refusal.code == .count:
            breakOff(after: policy.crowdedPause.wholeMilliseconds, at: now, into: &effects)
        case .never where isGreeting || (1000..<3000).contains(refusal.code.rawValue):
            stop(refusal, at: now, into: &effects)
        case .never: break
        case .after(let milliseconds):
            if isGreeting { return breakOff(after: wait(milliseconds).wholeMilliseconds, at: now, into: &effects) }
            let until = now + wait(milliseconds)
            for place in seats.indices { seats[place].holdUntil = max(seats[place].holdUntil ?? until, until) }
            remind(at: until)
        case .now: if isGreeting { breakOff(after: policy.leastPause.wholeMilliseconds, at: now, into: &effects) }
        }
    }
}
