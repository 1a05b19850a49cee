import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    /// The app asks to close.
    func close(_ frame: CloseFrame) {
        tellViolation()
        feedClosing(.close(frame))
        finishTurn()
    }

    /// The peer broke a rule: read no more, say which, and end (RFC 6455 §7.1.7).
    ///
    /// The app first has a moment to answer what came before, so that a violation keeps its place in the order.
    func fail(_ violation: ProtocolViolation) {
        isDiscarding = true
        if failure == nil {
            failure = TransportError(violation)
        }
        deliver()
        untold = (CloseFrame(violation.closeCode, reason: violation.description), until: now + .seconds(1))
        if inline != nil || inbound.awaitIdle() { tellViolation() } else { setAlarm() }
    }

    /// Tells the peer which rule it broke, if it has not been told.
    func tellViolation() {
        guard let (frame, _) = untold.take() else { return }
        feedClosing(.fail(frame))
        flush()
    }

    /// TCP is over.
    ///
    /// What had come by then still counts, when the app has room for it: perhaps a close frame is in it.
    func transportEnded() {
        if isCalling {
            (survivor, isSendingOver) = (self, true)
            return outbound.finish(failure ?? .hungUp, discarding: true)
        }
        deliver()
        (stalledUntil, survivor) = (nil, unparsed == nil ? nil : self)
        local.removeAlarm(self)
        alarm = nil
        guard survivor != nil else {
            feedClosing(.transportEnded)
            return onGone()
        }
        isSendingOver = true
        outbound.finish(failure ?? .hungUp, discarding: true)
        feedHeartbeat(.ended)
        if inline != nil { resumeReading() }  // Nobody else takes what is left.
    }

    func feedClosing(_ input: CloseHandshake.Input) {
        var effects: [CloseHandshake.Effect] = []
        closing.handle(input, at: now, into: &effects)
        perform(effects)
    }

    func perform(_ effects: [CloseHandshake.Effect]) {
        isSendingOver = closing.isClosing || survivor != nil
        for effect in effects {
            switch effect {
            case .sendClose(let frame):
                closeFrameToSend = frame
                outbound.finish(failure ?? .closing, discarding: false)
                // Word of what was accepted on another thread may still be on its way here.
                hasWork = true
                drain()
            case .endOutput: endOutput()
            case .endTransport: context?.close(promise: nil)
            case .finished(let record): finish(record)
            }
        }
        setAlarm()
    }

    private func finish(_ record: CloseRecord) {
        deliver()
        var error = failure ?? TransportError(ending: record)
        error?.record = record
        noteActivity()
        if heartbeat.meetsSilence { error?.wasIdle = true }
        failure = error
        meter.tell(traffic)
        // Whoever learns of the end finds the record, and can send nothing more.
        onFinished((record, error))
        outbound.finish(error ?? .closing, discarding: false)
        outbound.finishMarks()
        inbound.finish(error.map { .failure($0) } ?? .success(()))
        if let (handler, socket) = inline.take() {
            socket.handler = nil
            handler.ended(error.map { .failure($0) } ?? .success(record))
        }
        feedHeartbeat(.ended)
        observer = nil
    }
}
