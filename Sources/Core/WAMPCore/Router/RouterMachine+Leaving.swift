import CodecCore
import MachineCore

/// How sessions and connections end. Source: WAMP, "Session Close".
extension RouterMachine {
    /// A client broke the protocol: it is told with an ABORT, and loses session and connection.
    mutating func violate(
        _ connection: RouterConnection, _ words: String, as closing: RouterClosing = .violation, at now: Moment,
        into effects: inout [RouterEffect]
    ) {
        guard let visit = visits[connection] else { return }
        // Who is leaving has been told all that it has to know.
        if visit.phase != .leaving, closing == .violation, !policy.quirks.closesWithoutAbort {
            let reason = WAMPURI.Error.protocolViolation
            effects.append(.send(.abort(details: ["message": .text(words)], reason: reason, .none), to: connection))
        }
        effects.append(.news(.violation(connection, words)))
        leave(connection, reason: WAMPURI.Error.protocolViolation, at: now, into: &effects)
        close(connection, closing, into: &effects)
    }

    /// A client says goodbye.
    ///
    /// It is answered with the same; then the router closes the connection, though WAMP would let another session begin on it: a client
    /// that wants one connects again. With the quirk it stays open for as long as joining may take.
    mutating func part(_ connection: RouterConnection, reason: String, at now: Moment, into effects: inout [RouterEffect]) {
        let answer = policy.quirks.staysOpenAfterGoodbye ? WAMPURI.Close.normal : WAMPURI.Close.goodbyeAndOut
        effects.append(.send(.goodbye(details: ValueMap(), reason: answer, .none), to: connection))
        leave(connection, reason: reason, at: now, into: &effects)
        finish(connection, at: now, into: &effects)
    }

    /// A message of a client that was told goodbye: what was under way is ignored.
    mutating func listen(
        for message: WAMPMessage, of connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]
    ) {
        switch message {
        case .goodbye: finish(connection, at: now, into: &effects)
        case .abort: close(connection, isStopping ? .stopping : .goodbye, into: &effects)
        default: break
        }
    }

    /// Ends a session with a goodbye.
    ///
    /// - Returns: Whether there was one of this id.
    @discardableResult
    mutating func kill(
        _ session: WAMPID, reason: String, message: String?, at now: Moment, into effects: inout [RouterEffect]
    ) -> Bool {
        guard let connection = sessions[session] else { return false }
        let details = message.map { ["message": .text($0)] } ?? ValueMap()
        effects.append(.send(.goodbye(details: details, reason: reason, .none), to: connection))
        leave(connection, reason: reason, at: now, into: &effects)
        visits[connection]?.phase = .leaving
        alarms.set(.goodbye(connection), at: now + policy.goodbyePatience)
        return true
    }

    /// A client does not take what is sent to it.
    mutating func overrun(_ connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        guard let visit = visits[connection] else { return }
        if let session = visit.session, let realm = realms[session.realm] {
            effects.append(.news(.overrun(session.participant.session, realm: realm.name)))
        }
        leave(connection, reason: WAMPURI.Error.unavailable, at: now, into: &effects)
        close(connection, .overrun, into: &effects)
    }

    /// A connection is gone.
    mutating func lose(_ connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        leave(connection, reason: nil, at: now, into: &effects)
        forget(connection, into: &effects)
    }

    /// Every session is told goodbye; who has not joined is told that it cannot.
    mutating func stop(at now: Moment, into effects: inout [RouterEffect]) {
        guard !isStopping else { return }
        isStopping = true
        let reason = WAMPURI.Close.systemShutdown
        guard !visits.isEmpty else { return effects.append(.news(.stopped)) }
        // Nobody hears that the others go, for everybody does.
        var unheard: [RouterEffect] = []
        for session in sessions.keys.sorted() {
            guard let connection = sessions[session] else { continue }
            flushTestaments(of: connection) { $0 = Testaments() }
            if !policy.quirks.goesWithoutGoodbye {
                effects.append(.send(.goodbye(details: ValueMap(), reason: reason, .none), to: connection))
                visits[connection]?.phase = .leaving
                alarms.set(.goodbye(connection), at: now + policy.goodbyePatience)
            }
            leave(connection, reason: reason, at: now, into: &unheard)
        }
        effects += unheard.filter { if case .news = $0 { true } else { false } }
        for connection in visits.keys.sorted(by: { $0.number < $1.number }) {
            guard !policy.quirks.goesWithoutGoodbye else {
                close(connection, .cut, into: &effects)
                continue
            }
            guard visits[connection]?.phase != .leaving else { continue }
            effects.append(.send(.abort(details: ValueMap(), reason: reason, .none), to: connection))
            close(connection, .stopping, into: &effects)
        }
    }

    // MARK: Steps

    /// A session ends, if there is one: nothing of it stays, and its testaments are published.
    mutating func leave(_ connection: RouterConnection, reason: String?, at now: Moment, into effects: inout [RouterEffect]) {
        guard let session = visits[connection]?.session else { return }
        let (place, participant) = (session.realm, session.participant)
        visits[connection]?.session = nil
        sessions[participant.session] = nil
        leavings += 1
        realms[place]?.remove(participant.session, turn: leavings)
        realms[place]?.broker.leave(participant.session)
        realms[place]?.dealer.leave(participant.session, into: &effects)
        realms[place]?.testamentBytes -= session.testaments.bytes
        noteKept(in: place)
        hold(-session.notedBytes, for: session.holders)
        for testament in session.testaments.detached + session.testaments.destroyed {
            let room = room(for: participant, in: place)
            realms[place]?.broker.publish(testament, by: participant, isTestament: true, room: room, at: now, into: &effects)
            noteKept(in: place)
        }
        if policy.hasMetaAPI {
            let event = MetaEvent.left(session: participant.session, authID: participant.authID, authRole: participant.authRole)
            realms[place]?.broker.metaEvents.append(event)
        }
        if let realm = realms[place]?.name { effects.append(.news(.left(participant.session, realm: realm, reason: reason))) }
        settle(place, at: now, into: &effects)
    }

    /// Both have said goodbye.
    private mutating func finish(_ connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        guard policy.quirks.staysOpenAfterGoodbye, !isStopping else {
            return close(connection, isStopping ? .stopping : .goodbye, into: &effects)
        }
        visits[connection]?.phase = .silent
        alarms.cancel(.goodbye(connection))
        alarms.set(.join(connection), at: now + policy.joinPatience)
    }

    /// Ends a connection; what still comes from it is ignored.
    mutating func close(_ connection: RouterConnection, _ closing: RouterClosing, into effects: inout [RouterEffect]) {
        guard visits[connection] != nil else { return }
        effects.append(.close(connection, closing))
        forget(connection, into: &effects)
    }

    private mutating func forget(_ connection: RouterConnection, into effects: inout [RouterEffect]) {
        guard visits.removeValue(forKey: connection) != nil else { return }
        alarms.cancel(.join(connection))
        alarms.cancel(.goodbye(connection))
        if isStopping, visits.isEmpty { effects.append(.news(.stopped)) }
    }
}
