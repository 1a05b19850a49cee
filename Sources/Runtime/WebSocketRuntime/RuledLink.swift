package import MachineCore
public import WebSocketCore

/// The state shared by a transport and its link; all of it may be used from any task.
package final class LinkPorts: Sendable {
    /// The end of a connection: its close record, and the error if it did not close regularly.
    package typealias Ending = (record: CloseRecord, error: TransportError?)

    package let inbound: InboundQueue
    package let outbound: OutboundQueue
    package let ending = LinkOutcome<Ending>()
    package let meter = TrafficMeter()

    /// Creates the ports; `room` is called when the app has taken enough to continue reading, `work` when there is something to send.
    package init(
        receiveBuffer: Int, sendBuffer: Int, room: @escaping @Sendable () -> Void, work: @escaping @Sendable () -> Void
    ) {
        inbound = InboundQueue(capacity: receiveBuffer, onRoom: room)
        outbound = OutboundQueue(capacity: sendBuffer, onWork: work)
    }
}

/// One end of a connection that is not a SwiftNIO channel.
///
/// The extension performs the effects of the close handshake and the heartbeat; the link implements the rest.
package protocol RuledLink: AnyObject {
    var now: Moment { get }
    var ports: LinkPorts { get }
    var closing: CloseHandshake { get set }
    var heartbeat: Heartbeat { get set }
    /// The message that replaces pings, and the timeout for its answer.
    var question: PingMessage? { get }
    var patience: Duration { get }
    var questions: PingQuestions { get set }
    /// The observer of round-trip times.
    var observer: (any LinkObserver)? { get set }
    /// The reason why the connection failed; the first reason counts.
    var failure: TransportError? { get set }
    var pings: [UInt64: LinkOutcome<Result<Duration, TransportError>>] { get set }
    var lastPing: UInt64 { get set }
    var traffic: LinkTraffic { get set }
    /// Whether reading is paused because the app is too slow.
    var isPaused: Bool { get set }
    /// Whether further input is ignored: the peer has sent its close frame, or has violated the protocol.
    var isDiscarding: Bool { get set }

    /// Performs the link's part of an effect of the close handshake.
    func carryOut(_ effect: CloseHandshake.Effect)
    /// Sends a ping.
    func sendPing(_ payload: [UInt8])
}

extension RuledLink {
    /// Whether this side of the link has ended.
    package var isOver: Bool { closing.phase == .closed }
    /// Whether the link reads: while closing it reads even if the app does not, or it would never see the peer's close frame.
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

    /// Wakes both machines, which then do what is due.
    package func wakeMachines(at now: Moment) {
        var effects: [Heartbeat.Effect] = []
        heartbeat.wake(at: now, into: &effects)
        perform(effects)
        var steps: [CloseHandshake.Effect] = []
        closing.wake(at: now, into: &steps)
        perform(steps)
    }

    /// Handles a protocol violation of the peer: reports it and ends the connection (RFC 6455 §7.1.7).
    package func fail(_ violation: ProtocolViolation) {
        giveUp(TransportError(violation), CloseFrame(violation.closeCode, reason: violation.description))
    }

    /// Discards everything that waits and still arrives, and closes with an error.
    package func giveUp(_ error: TransportError, _ frame: CloseFrame) {
        isDiscarding = true
        failure = failure ?? error
        ports.outbound.finish(error, discarding: true)
        feedClosing(.fail(frame))
    }

    /// Ends the connection at once, without a close handshake.
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

    /// Delivers received messages to the app.
    package func hand(_ batch: inout ReceivedBatch) {
        ports.meter.notify(traffic)
        if let question, !questions.isEmpty, question.takeAnswers(from: &batch, to: &questions) { feedHeartbeat(.answered) }
        // A link that is closing continues to read, but drops messages for which the app has no room.
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
        // The ending is set first, so that anyone notified of the end finds the record.
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
                let error = closing.isClosing ? end : TransportError(.timedOut, "no pong arrived in time")
                pings.removeValue(forKey: id)?.settle(.failure(error))
            case .dead: lose(TransportError(.unresponsive, "the peer was silent for too long and did not answer a ping"))
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

/// A message that is sent instead of a ping, for servers that do not answer pings.
///
/// It is sent whenever an automatic ping would be, and as with a ping any received byte shows that the peer is alive. The answer gives
/// the round-trip time. Both closures are called on the connection's own thread, the second for every message that arrives while an
/// answer is expected. They must return at once.
public struct PingMessage: Sendable {
    /// Creates the message.
    public var make: @Sendable () -> Message
    /// Whether a message is the answer.
    public var isAnswer: @Sendable (Message) -> Bool
    /// Whether the app receives the answers, too.
    ///
    /// An answer that was not asked for is always delivered as an ordinary message, and so is one that arrives after the next question
    /// and later than a pong might.
    public var showsAnswers: Bool

    /// Creates a ping message; by default the app does not receive the answers.
    public init(
        showsAnswers: Bool = false, _ make: @escaping @Sendable () -> Message, isAnswer: @escaping @Sendable (Message) -> Bool
    ) {
        (self.make, self.isAnswer, self.showsAnswers) = (make, isAnswer, showsAnswers)
    }
}

extension PingMessage {
    /// Removes the expected answers from a received batch, unless the app receives them, too.
    ///
    /// - Returns: Whether the newest question was answered.
    package func takeAnswers(from batch: inout ReceivedBatch, to questions: inout PingQuestions) -> Bool {
        var (rest, isNewest) = (ReceivedBatch(), false)
        while let received = batch.popFirst() {
            if case .message(let message) = received, !questions.isEmpty, isAnswer(message) {
                if questions.answer() { isNewest = true }
                if !showsAnswers { continue }
            }
            rest.append(received)
        }
        batch = rest
        return isNewest
    }
}
