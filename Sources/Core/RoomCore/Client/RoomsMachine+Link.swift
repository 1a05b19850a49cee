import MachineCore
import ProtocolCore

/// Opening, welcome and end of a connection.
extension RoomsMachine {
    mutating func open(token: String?, at now: Moment, into effects: inout [RoomsEffect]) {
        if link.phase != .offline { lose(at: now, into: &effects) }
        guard device != nil, !commits.pending.contains(where: \.isRenewal) else { return link.phase = .holding(token: token) }
        greet(token: token, at: now, into: &effects)
    }

    mutating func greet(token: String?, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let device else { return }
        link.isOneByOne = link.failedResumes >= policy.failedResumes
        link.phase = .greeting(until: now + policy.welcomeTimeout)
        (link.resuming, link.pendingLeaves, link.lone, link.nonsense, link.freshToken) = ([], [], nil, 0, nil)
        link.tokenPace = TokenPace()
        remind(at: now + policy.welcomeTimeout)
        var joins: [ClientFrame.Join] = []
        for place in clientRooms.indices where !link.isOneByOne && mayJoin(place) && joins.count < policy.joinsInHello {
            joins.append(joinFrame(place))
            clientRooms[place].standing = .asked(until: .distantFuture)
            clientRooms[place].wasAsked = true
            link.resuming.insert(clientRooms[place].room)
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
            for place in clientRooms.indices { clientRooms[place].outbox.correct { clock.corrected($0, at: now) } }
        }
        effects.append(
            .news(.welcomed(welcome.user, connection: welcome.connection, limits: welcome.limits, expires: welcome.expires)))
        planToken(before: welcome.expires, at: now)
        if let token = link.freshToken {
            link.freshToken = nil
            effects.append(.send(.auth(token: token)))
        }
        for room in link.pendingLeaves { effects.append(.send(.leave(room))) }
        link.pendingLeaves = []
        if renewal != nil { awaitSettling(at: now) }
        for place in clientRooms.indices {
            giveUpTooLong(place, into: &effects)
            if case .asked = clientRooms[place].standing { clientRooms[place].standing = .asked(until: now + policy.stateTimeout) }
            if link.isOneByOne, clientRooms[place].suspicion > 0, mayJoin(place) {
                // These rooms are postponed, so that one bad room does not block the others.
                let pause = min(policy.suspicion * clientRooms[place].suspicion, policy.longestPause)
                clientRooms[place].standing = .pausing(until: now + pause)
                remind(at: now + pause)
            }
        }
        remind(at: now + policy.stateTimeout)
        for place in clientRooms.indices { enter(place, at: now, into: &effects) }
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
        // The new token may grant what was refused before.
        for place in clientRooms.indices {
            guard case .barred = clientRooms[place].standing else { continue }
            clientRooms[place].standing = .out
            enter(place, at: now, into: &effects)
        }
    }

    mutating func lose(at now: Moment, into effects: inout [RoomsEffect]) {
        drop(at: now, into: &effects)
        link.phase = .offline
    }

    /// Drops the connection: nothing that the hub sends on it counts any more.
    mutating func drop(at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.listens else { return link.phase = .ended }
        link.phase = .ended
        if !link.resuming.isEmpty { link.failedResumes += 1 }
        if let lone = link.lone, let place = places[lone] { clientRooms[place].suspicion += 1 }
        (link.resuming, link.lone, link.tokenAt, isTight) = ([], nil, nil, false)
        renewal?.deadline = nil
        for place in clientRooms.indices {
            clientRooms[place].detach()
            clientRooms[place].wasAsked = false
            clearMembers(place, into: &effects)
            if clientRooms[place].typing.clear() { effects.append(.news(.typing(clientRooms[place].room, []))) }
            if clientRooms[place].store == .ready { notify(.waiting, of: place, into: &effects) }
        }
        for question in questions { giveUp(question, nil, at: now, into: &effects) }
        questions = []
    }

    /// Ends the connection; the client reconnects after this number of milliseconds at the earliest.
    mutating func breakOff(after milliseconds: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        breakOff(.again(after: .milliseconds(max(0, milliseconds))), at: now, into: &effects)
    }

    mutating func breakOff(_ end: ConnectionEnd, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.listens else { return }
        drop(at: now, into: &effects)
        effects.append(.end(end))
    }

    /// Stops the client: the hub would refuse another connection as well.
    private mutating func stop(_ refusal: Refusal, at now: Moment, into effects: inout [RoomsEffect]) {
        drop(at: now, into: &effects)
        effects.append(.event(.stopped(refusal)))
        effects.append(.end(.stop))
    }

    /// Handles a protocol violation by the hub: joins the room again, and after too many violations ends the connection.
    mutating func nonsense(_ place: Int?, at now: Moment, into effects: inout [RoomsEffect]) {
        if now - link.nonsenseSince > .seconds(60) { (link.nonsense, link.nonsenseSince) = (0, now) }
        link.nonsense += 1
        guard link.nonsense < policy.nonsense else {
            return breakOff(.rejected("the hub broke the protocol too often"), at: now, into: &effects)
        }
        guard let place else { return }
        clientRooms[place].standing = .behind
        goOn(place, at: now, into: &effects)
    }

    // MARK: Frames of the hub

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
            guard let place = places[room], clientRooms[place].isAttached else { break }
            effects.append(.news(.signal(room, from: user, connection: connection, signal)))
        case .refusal(let refusal): refuse(refusal, at: now, into: &effects)
        case .pong(_, let time): clock.heard(hub: time, at: now)
        case .goaway(let words): goAway(words, at: now, into: &effects)
        }
        breakOffIfDrained(at: now, into: &effects)
    }

    mutating func goAway(_ words: HubFrame.Goaway, at now: Moment, into effects: inout [RoomsEffect]) {
        if case .draining = link.phase { return }
        // Leave a part of the hub's time for the round trip.
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
        guard let place = places[room], clientRooms[place].isWanted, clientRooms[place].store == .ready else { return }
        if let cseq = refusal.cseq { return refuse(cseq, refusal, of: place, at: now, into: &effects) }
        // A malformed or too long frame was a presence or a signal; a join is not refused with these codes.
        guard case .asked = clientRooms[place].standing, refusal.code != .malformed, refusal.code != .size else {
            guard clientRooms[place].standing == .live else { return }
            if refusal.code == .notJoined { nonsense(place, at: now, into: &effects) }
            // All rights may be lost, or only the right for what was sent. The answer to a new join shows it.
            if refusal.code == .rights {
                clientRooms[place].standing = .behind
                goOn(place, at: now, into: &effects)
            }
            return
        }
        answered(place, at: now, into: &effects)
        switch refusal.retry {
        // A full hub will have space again later, so the refusal is not final.
        case .never where refusal.code == .count: putOff(place, policy.crowdedPause.wholeMilliseconds, at: now)
        case .never:
            clientRooms[place].standing = .barred(refusal)
            clientRooms[place].isAttached = false
            notify(.refused(refusal), of: place, into: &effects)
        case .now: putOff(place, 0, at: now)
        case .after(let milliseconds): putOff(place, milliseconds, at: now)
        case .reconnect: break
        }
        joinNext(at: now, into: &effects)
    }

    /// Handles a refusal that concerns the whole connection.
    private mutating func refuseAll(_ refusal: Refusal, at now: Moment, into effects: inout [RoomsEffect]) {
        effects.append(.event(.refused(refusal)))
        var isGreeting = false
        if case .greeting = link.phase { isGreeting = true }
        switch refusal.retry {
        case .reconnect:
            // A hub that shuts down has said, or will say, when to reconnect.
            if isGreeting || refusal.code != .stopping { breakOff(after: 0, at: now, into: &effects) }
        case .never where isGreeting && refusal.code == .count:
            breakOff(after: policy.crowdedPause.wholeMilliseconds, at: now, into: &effects)
        case .never where isGreeting || (1000..<3000).contains(refusal.code.rawValue):
            stop(refusal, at: now, into: &effects)
        case .never: break
        case .after(let milliseconds):
            if isGreeting { return breakOff(after: wait(milliseconds).wholeMilliseconds, at: now, into: &effects) }
            let until = now + wait(milliseconds)
            for place in clientRooms.indices { clientRooms[place].holdUntil = max(clientRooms[place].holdUntil ?? until, until) }
            remind(at: until)
        case .now: if isGreeting { breakOff(after: policy.leastPause.wholeMilliseconds, at: now, into: &effects) }
        }
    }
}

/// The connection to the hub, as a rooms client sees it.
struct HubLink: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// No connection. → `greeting` or `holding` on `opened`.
        case offline
        /// A connection exists, but the store is not open, or a new device ID is being written. → `greeting` once it is, → `offline` on `lost`.
        case holding(token: String?)
        /// `hello` was sent. → `welcomed`, → `ended`, → `offline`.
        case greeting(until: Moment)
        /// The hub has accepted the client. → `draining` on `goaway`, → `ended`, → `offline`.
        case welcomed
        /// The hub shuts down: publications in flight may still be acked. → `ended`, → `offline`.
        case draining(until: Moment, back: Moment)
        /// The client has ended the connection and ignores all frames on it. → `offline` on `lost`.
        case ended
    }
    var phase = Phase.offline
    var user: UserName?
    var connection = ""
    var limits = RoomsLimits()
    /// A token that came before the welcome.
    var freshToken: String?
    var tokenPace = TokenPace()
    /// When the client asks the app for a fresh token.
    var tokenAt: Moment?

    /// Rooms in this connection's `hello` that the app left before the welcome.
    var pendingLeaves: [RoomName] = []
    /// Rooms in this connection's `hello` without an answer.
    var resuming: Set<RoomName> = []
    /// The number of failed resumes in a row.
    var failedResumes = 0
    /// Whether rooms are joined one after the other.
    var isOneByOne = false
    /// The room that is being joined separately.
    var lone: RoomName?
    /// When the hub last answered a join.
    var lastState = Moment.start

    /// The number of protocol violations by the hub within a minute.
    var nonsense = 0
    var nonsenseSince = Moment.start

    /// Whether the client accepts frames from the hub.
    var listens: Bool {
        switch phase {
        case .greeting, .welcomed, .draining: true
        case .offline, .holding, .ended: false
        }
    }
    /// Whether there is a connection that the client has not ended.
    var isOpen: Bool { phase != .offline && phase != .ended }
    /// Whether rooms may be joined.
    var isUp: Bool { phase == .welcomed }
}

/// Decides when to replace a token on a connection: before it expires, and with a minimum pause between attempts.
///
/// A provider may return the same token again, or an expired one.
package struct TokenPace: Hashable, Sendable {
    private var latestEnd: Int64 = 0
    /// The number of tokens in a row that expired no later than an earlier one.
    private var idle = 0

    /// Creates the pace for a new connection.
    package init() {}

    /// Returns how long to wait before the client asks for a fresh token.
    ///
    /// - Parameters:
    ///   - expires: When the current token expires, by the hub's clock.
    ///   - left: The time from now until then.
    ///   - margin: How long before the expiry a token is to be replaced.
    package mutating func pause(until expires: Int64, left: Duration, margin: Duration) -> Duration {
        idle = expires > latestEnd ? 0 : min(idle + 1, 6)
        latestEnd = max(latestEnd, expires)
        return max(left - margin, left / 2, Backoff(base: .seconds(1), cap: .seconds(60)).ceiling(attempt: idle + 1))
    }
}

extension RoomsMachine {
    /// Plans the replacement of a token that expires at this time by the hub's clock; 0: never.
    mutating func planToken(before expires: Int64, at now: Moment) {
        guard expires > 0, let margin = policy.tokenMargin else { return }
        let time = clock.now(at: now) ?? expires
        let left = Duration.milliseconds(max(0, min(expires, RoomsLimits.number) - time))
        let moment = now + link.tokenPace.pause(until: expires, left: left, margin: margin)
        link.tokenAt = moment
        remind(at: moment)
    }
}
