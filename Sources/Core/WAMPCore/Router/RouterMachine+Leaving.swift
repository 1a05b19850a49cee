import CodecCore
import MachineCore

/// The end of sessions and connections. Source: WAMP, "Session Close".
extension RouterMachine {
    /// Handles a protocol violation: sends an ABORT and ends the session and the connection.
    mutating func violate(
        _ connection: RouterConnection, _ words: String, as closing: RouterClosing = .violation, at now: Moment,
        into effects: inout [RouterEffect]
    ) {
        guard let peer = peers[connection] else { return }
        // A client that is leaving needs no ABORT.
        if peer.phase != .leaving, closing == .violation, !policy.quirks.closesWithoutAbort {
            let reason = WAMPURI.Error.protocolViolation
            effects.append(.send(.abort(details: ["message": .text(words)], reason: reason, .none), to: connection))
        }
        effects.append(.news(.violation(connection, words)))
        leave(connection, reason: WAMPURI.Error.protocolViolation, at: now, into: &effects)
        close(connection, closing, into: &effects)
    }

    /// Handles a client's goodbye.
    ///
    /// The router answers it and closes the connection. WAMP would allow another session on it, but here a client must connect again.
    /// With the quirk, the connection stays open for the time limit of joining.
    mutating func part(_ connection: RouterConnection, reason: String, at now: Moment, into effects: inout [RouterEffect]) {
        let answer = policy.quirks.staysOpenAfterGoodbye ? WAMPURI.Close.normal : WAMPURI.Close.goodbyeAndOut
        effects.append(.send(.goodbye(details: ValueMap(), reason: answer, .none), to: connection))
        leave(connection, reason: reason, at: now, into: &effects)
        finish(connection, at: now, into: &effects)
    }

    /// Handles a message of a client that was sent a goodbye; messages in flight are ignored.
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
    /// - Returns: Whether there was such a session.
    @discardableResult
    mutating func kill(
        _ session: WAMPID, reason: String, message: String?, at now: Moment, into effects: inout [RouterEffect]
    ) -> Bool {
        guard let connection = sessions[session] else { return false }
        let details = message.map { ["message": .text($0)] } ?? ValueMap()
        effects.append(.send(.goodbye(details: details, reason: reason, .none), to: connection))
        leave(connection, reason: reason, at: now, into: &effects)
        peers[connection]?.phase = .leaving
        alarms.set(.goodbye(connection), at: now + policy.goodbyePatience)
        return true
    }

    /// Disconnects a client that does not take what is sent to it.
    mutating func overrun(_ connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        guard let peer = peers[connection] else { return }
        if let session = peer.session, let realm = realms[session.realm] {
            effects.append(.news(.overrun(session.participant.session, realm: realm.name)))
        }
        leave(connection, reason: WAMPURI.Error.unavailable, at: now, into: &effects)
        close(connection, .overrun, into: &effects)
    }

    /// Handles a lost connection.
    mutating func lose(_ connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        leave(connection, reason: nil, at: now, into: &effects)
        forget(connection, into: &effects)
    }

    /// Shuts down: sends every session a goodbye, and aborts clients that have not joined.
    mutating func stop(at now: Moment, into effects: inout [RouterEffect]) {
        guard !isStopping else { return }
        isStopping = true
        let reason = WAMPURI.Close.systemShutdown
        guard !peers.isEmpty else { return effects.append(.news(.stopped)) }
        // Sessions are not told that others leave, because all of them do.
        var unheard: [RouterEffect] = []
        for session in sessions.keys.sorted() {
            guard let connection = sessions[session] else { continue }
            flushTestaments(of: connection) { $0 = Testaments() }
            if !policy.quirks.goesWithoutGoodbye {
                effects.append(.send(.goodbye(details: ValueMap(), reason: reason, .none), to: connection))
                peers[connection]?.phase = .leaving
                alarms.set(.goodbye(connection), at: now + policy.goodbyePatience)
            }
            leave(connection, reason: reason, at: now, into: &unheard)
        }
        effects += unheard.filter { if case .news = $0 { true } else { false } }
        for connection in peers.keys.sorted(by: { $0.number < $1.number }) {
            guard !policy.quirks.goesWithoutGoodbye else {
                close(connection, .cut, into: &effects)
                continue
            }
            guard peers[connection]?.phase != .leaving else { continue }
            effects.append(.send(.abort(details: ValueMap(), reason: reason, .none), to: connection))
            close(connection, .stopping, into: &effects)
        }
    }

    // MARK: Steps

    /// Ends a session if there is one: removes its data and publishes its testaments.
    mutating func leave(_ connection: RouterConnection, reason: String?, at now: Moment, into effects: inout [RouterEffect]) {
        guard let session = peers[connection]?.session else { return }
        let (place, participant) = (session.realm, session.participant)
        peers[connection]?.session = nil
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

    /// Ends a connection after both sides have said goodbye.
    private mutating func finish(_ connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        guard policy.quirks.staysOpenAfterGoodbye, !isStopping else {
            return close(connection, isStopping ? .stopping : .goodbye, into: &effects)
        }
        peers[connection]?.phase = .silent
        alarms.cancel(.goodbye(connection))
        alarms.set(.join(connection), at: now + policy.joinPatience)
    }

    /// Closes a connection; further messages from it are ignored.
    mutating func close(_ connection: RouterConnection, _ closing: RouterClosing, into effects: inout [RouterEffect]) {
        guard peers[connection] != nil else { return }
        effects.append(.close(connection, closing))
        forget(connection, into: &effects)
    }

    private mutating func forget(_ connection: RouterConnection, into effects: inout [RouterEffect]) {
        guard peers.removeValue(forKey: connection) != nil else { return }
        alarms.cancel(.join(connection))
        alarms.cancel(.goodbye(connection))
        if isStopping, peers.isEmpty { effects.append(.news(.stopped)) }
    }
}
