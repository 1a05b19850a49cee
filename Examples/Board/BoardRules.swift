package import HoldfastProtocols

// snippet.TYPES
/// A client of boards: what is posted is kept once, and what is followed comes in order, without a hole.
package struct BoardRules: ProtocolMachine, Hashable {
    package typealias Received = BoardReply
    package typealias Sent = BoardRequest

    package enum Command: Hashable, Sendable {
        case post(RequestID, channel: String, text: String, patience: Duration?)
        case follow(RequestID, channel: String, after: Int)
        case leave(RequestID)
    }
    package struct Event: ProtocolEvent, Hashable {
        package enum News: Hashable, Sendable {
            case posted
            case failed(reason: String, mayHaveArrived: Bool)
            case item(number: Int, text: String)
        }
        package let request: RequestID?
        package let news: News
        package var isLast: Bool { if case .item = news { false } else { true } }
    }
    // snippet.end

    // snippet.PARTS
    struct Place: Hashable, Sendable {
        let channel: String
        /// The number of the last item that came.
        var cursor: Int
    }
    let name: String
    var posts = PendingRequests<RequestID, BoardRequest>(limit: 10_000)
    var follows: StandingRequests<RequestID>
    var places: [RequestID: Place] = [:]
    var heartbeat = MessageHeartbeat(pingAfter: nil, patience: .seconds(5))

    package init(name: String, seed: UInt64) {
        (self.name, follows) = (name, StandingRequests(seed: seed))
    }
    // snippet.end

    // snippet.INPUTS
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .opened:
            heartbeat.heard(at: now)
            effects.append(.send(.hello(name: name)))
        case .lost(let unsent, _):
            heartbeat.stop()
            follows.lose()
            posts.lose(unsent: unsent.compactMap { if case .post(let id, _, _) = $0 { RequestID(id) } else { nil } })
        case .received(let reply):
            heartbeat.heard(at: now)
            receive(reply, at: now, into: &effects)
        case .undecodable(let reason): effects.append(.end(.reject(.invalidPayload, reason: reason)))
        case .paused:
            heartbeat.stop()
            follows.pause()
        case .resumed:
            heartbeat.heard(at: now)
            follows.resume(at: now)
        case .command(let command): obey(command, at: now, into: &effects)
        }
    }
    // snippet.end

    // snippet.TIME
    package var deadline: Moment? { .earliest(heartbeat.deadline, follows.deadline, posts.deadline) }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        if heartbeat.wake(at: now) == .dead { effects.append(.end(.cut(reason: "the board is silent"))) }
        while let post = posts.overdue(at: now) {
            notify(post.id, .failed(reason: "no answer in time", mayHaveArrived: post.mayHaveArrived), into: &effects)
        }
        for step in follows.wake(at: now) { take(step, into: &effects) }
    }
    // snippet.end

    // snippet.REPLIES
    private mutating func receive(_ reply: BoardReply, at now: Moment, into effects: inout [Effect]) {
        switch reply {
        case .welcome:
            effects.append(.ready)
            for step in follows.open(at: now) { take(step, into: &effects) }
        case .ack(let id): if posts.end(RequestID(id)) != nil { notify(RequestID(id), .posted, into: &effects) }
        case .refused(let id, let reason):
            guard posts.end(RequestID(id)) != nil || follows.refused(RequestID(id), forGood: true, at: now) else { break }
            places[RequestID(id)] = nil
            notify(RequestID(id), .failed(reason: reason, mayHaveArrived: false), into: &effects)
        case .following(let id): take(follows.granted(RequestID(id)), into: &effects)
        case .item(let id, let number, let text):
            guard let cursor = places[RequestID(id)]?.cursor else { break }  // The app no longer follows the channel.
            guard number == cursor + 1 else { return effects.append(.end(.reject(.invalidPayload, reason: "an item is missing"))) }
            places[RequestID(id)]?.cursor = number
            notify(RequestID(id), .item(number: number, text: text), into: &effects)
        case .ping: effects.append(.send(.pong))
        }
        sendPosts(into: &effects)
    }
    // snippet.end

    // snippet.COMMANDS
    private mutating func obey(_ command: Command, at now: Moment, into effects: inout [Effect]) {
        switch command {
        case .post(let id, let channel, let text, let patience):
            guard posts.add(id, .post(id: id.number, channel: channel, text: text), due: patience.map { now + $0 }) else {
                return notify(id, .failed(reason: "too many wait", mayHaveArrived: false), into: &effects)
            }
            sendPosts(into: &effects)
        case .follow(let id, let channel, let after):
            places[id] = Place(channel: channel, cursor: after)
            take(follows.want(id, at: now), into: &effects)
        case .leave(let id):
            places[id] = nil
            take(follows.drop(id), into: &effects)
        }
    }

    /// At most 64 are on their way, in order; after a loss, those without an answer go first.
    private mutating func sendPosts(into effects: inout [Effect]) {
        while follows.isOpen, let post = posts.next(within: 64) { effects.append(.send(post.request)) }
    }

    private func notify(_ request: RequestID, _ news: Event.News, into effects: inout [Effect]) {
        effects.append(.event(Event(request: request, news: news)))
    }

    private func take(_ step: StandingRequests<RequestID>.Step?, into effects: inout [Effect]) {
        switch step {
        case .ask(let id)?:
            if let place = places[id] { effects.append(.send(.follow(id: id.number, channel: place.channel, after: place.cursor))) }
        case .withdraw(let id)?: effects.append(.send(.unfollow(id: id.number)))
        case .unanswered?: effects.append(.end(.reject(.goingAway, reason: "the board does not answer")))
        case nil: break
        }
    }
    // snippet.end
}
