package import MachineCore
package import WebSocketCore

/// What a transport and its link share: all of it may be used from any task.
package final class LinkPorts: Sendable {
    /// How a connection ended, and why if that was not in peace.
    package typealias Ending = (record: CloseRecord, error: TransportError?)

    package let inbound: InboundQueue
    package let outbound: OutboundQueue
    package let ending = LinkOutcome<Ending>()
    package let meter = TrafficMeter()

    /// `room` is told when the app has taken enough to go on, `work` when there is something to send.
    package init(
        receiveBuffer: Int, sendBuffer: Int, room: @escaping @Sendable () -> Void, work: @escaping @Sendable () -> Void
    ) {
        inbound = InboundQueue(capacity: receiveBuffer, onRoom: room)
        outbound = OutboundQueue(capacity: sendBuffer, onWork: work)
    }
}

/// One end of a connection that is no channel of SwiftNIO.
///
/// Its extension performs the effects of the close handshake and the heartbeat. What only the link can do, the link does.
package protocol RuledLink: AnyObject {
    var now: Moment { get }
    var ports: LinkPorts { get }
    var closing: CloseHandshake { get set }
    var heartbeat: Heartbeat { get set }
    /// What asks in place of a ping, and how long its answer may take.
    var question: PingMessage? { get }
    var patience: Duration { get }
    var questions: PingQuestions { get set }
    /// Who hears of the round trips.
    var observer: (any LinkObserver)? { get set }
    /// Why the connection failed, once it did; the first reason counts.
    var failure: TransportError? { get set }
    var pings: [UInt64: LinkOutcome<Result<Duration, TransportError>>] { get set }
    var lastPing: UInt64 { get set }
    var traffic: LinkTraffic { get set }
    /// The app does not keep up, so nothing more is read.
    var isPaused: Bool { get set }
    /// Nothing that still arrives counts: the peer has said its last word, or broke a rule.
    var isDiscarding: Bool { get set }

    /// Does the link's own part of what the close handshake orders.
    func carryOut(_ effect: CloseHandshake.Effect)
    /// Puts a ping on its way.
    func sendPing(_ payload: [UInt8])
}

extension RuledLink {
    /// Its side of the link is gone.
    package var isOver: Bool { closing.phase == .closed }
    /// Whoever closes reads on even when the app does not, or the peer's close frame would never be seen.
    package var reads: Bool { !isPaused || closing.isClosing }

    package func feedClosing(_ input: CloseHandshake.Input) {
        var effects: [CloseHandshake.Effect] = []
        closing.handle(input, at: now, into: &effects)
        perform(effects)
    }

    package func feedHeartbeat(_ input: Heartbeat.Input) {
        var effects: [Heartbeat.Effect] = []
        heartbeat.handle(input, at: now, into: &effects)
        perform(effects)
    }

    /// Lets both machines do what is due.
    package func wakeMachines(at now: Moment) {
        var effects: [Heartbeat.Effect] = []
        heartbeat.wake(at: now, into: &effects)
        perform(effects)
        var steps: [CloseHandshake.Effect] = []
        closing.wake(at: now, into: &steps)
        perform(steps)
    }

    /// The peer broke a rule: say which, and end (RFC 6455 §7.1.7).
    package func fail(_ violation: ProtocolViolation) {
        giveUp(TransportError(violation), CloseFrame(violation.closeCode, reason: violation.description))
    }

    /// Gives up what waits and what still comes, and says why.
    package func giveUp(_ error: TransportError, _ frame: CloseFrame) {
        isDiscarding = true
        failure = failure ?? error
        ports.outbound.finish(error, discarding: true)
        feedClosing(.fail(frame))
    }

    /// Ends at once, without a close handshake.
    package func lose(_ error: TransportError) {
        failure = failure ?? error
        feedClosing(.transportEnded)
    }

    package func ping(_ patience: Duration, _ pong: LinkOutcome<Result<Duration, TransportError>>) {
        guard !closing.isClosing else { return pong.settle(.failure(failure ?? .closing)) }
        lastPing += 1
        pings[lastPing] = pong
        feedHeartbeat(.pingRequested(id: lastPing, patience: patience))
    }

    /// Hands over what was received.
    package func hand(_ batch: inout ReceivedBatch) {
        ports.meter.tell(traffic)
        if let question, !questions.isEmpty, question.takeAnswers(from: &batch, to: &questions) { feedHeartbeat(.answered) }
        // An end that closes reads on, and keeps nothing that its app has no room for.
        guard !batch.isEmpty, !isPaused, !ports.inbound.append(&batch) else { return }
        isPaused = true
        feedHeartbeat(.paused)
    }

    private func perform(_ effects: [CloseHandshake.Effect]) {
        for effect in effects {
            if case .finished(let record) = effect { finish(record) }
            carryOut(effect)
            if case .sendClose = effect { ports.outbound.finish(failure ?? .closing, discarding: false) }
        }
    }

    private func finish(_ record: CloseRecord) {
        var error = failure ?? TransportError(ending: record)
        error?.record = record
        if heartbeat.meetsSilence { error?.wasIdle = true }
        failure = error
        // First, so that whoever hears of the end finds the record.
        ports.ending.settle((record, error))
        ports.inbound.finish(error.map { .failure($0) } ?? .success(()))
        ports.outbound.finish(error ?? .closing, discarding: false)
        ports.outbound.finishMarks()
        feedHeartbeat(.ended)
        observer = nil
    }

    private func perform(_ effects: [Heartbeat.Effect]) {
        for effect in effects {
            switch effect {
            case .sendPing(let payload): ask(payload)
            case .roundTrip(let id, let duration):
                observer?.roundTrip(duration, isAutomatic: id == nil)
                if let id { pings.removeValue(forKey: id)?.settle(.success(duration)) }
            case .expired(let id):
                let end = failure ?? .closing
                let error = closing.isClosing ? end : TransportError(.timedOut, "no pong came in time")
                pings.removeValue(forKey: id)?.settle(.failure(error))
            case .dead: lose(TransportError(.unresponsive, "the peer was silent for too long and answered no ping"))
            }
        }
    }

    private func ask(_ payload: [UInt8]) {
        guard let question, heartbeat.isAutomatic(payload) else { return sendPing(payload) }
        guard (try? ports.outbound.offer(question.make())) == true else { return feedHeartbeat(.postponed) }
        questions.ask(at: now, patience: patience)
        feedHeartbeat(.written(payload))
    }
}

extension TransportError {
    package static let droppedHere = TransportError(.lost, "the connection was dropped by this side")
}

extension Message {
    /// The whole message as its only piece.
    package var onlyPiece: MessageChunk {
        switch self {
        case .text(let text): MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: true)
        case .binary(let bytes): MessageChunk(kind: .binary, bytes: bytes, isLast: true)
        }
    }
}
