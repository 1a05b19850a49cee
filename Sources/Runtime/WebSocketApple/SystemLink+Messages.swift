import DequeModule
import MachineCore
import WebSocketCore
import WebSocketRuntime

extension SystemLink {
    /// Requests one message from the system, which delivers one message per request.
    func arm() {
        guard !isArmed, !isOver, readFailure == nil, reads else { return }
        isArmed = true
        socket.receive { [post] in post.yield(.received($0)) }
    }

    func take(_ result: Result<Message, SystemFailure>) {
        isArmed = false
        switch result {
        case .success(let message):
            lingersUntil = nil
            feedHeartbeat(.activity)
            if !isDiscarding { take(message) }
        case .failure(let failure) where failure.isMessageTooBig && !closing.isClosing:
            readFailure = failure
            fail(ProtocolViolation(.messageTooBig, "at most \(settings.messageLimit) bytes are allowed (limits.message)"))
        case .failure(let failure): readFailure = failure
        }
    }

    private func take(_ message: Message) {
        guard message.byteCount <= settings.messageLimit else {
            let words = "\(message.byteCount) bytes, at most \(settings.messageLimit) are allowed (limits.message)"
            return fail(ProtocolViolation(.messageTooBig, words))
        }
        traffic += LinkTraffic(bytesIn: message.byteCount, messagesIn: 1, payloadIn: message.byteCount)
        var batch = ReceivedBatch()
        batch.append(settings.delivery == .messages ? .message(message) : .chunk(message.onlyPiece))
        hand(&batch)
    }

    func handle(_ event: SystemEvent) {
        switch event {
        case .opened: break
        case .closed(let code, let reason):
            feedHeartbeat(.activity)
            lastWord = (CloseFrame(systemCode: code, reason: reason), nil)
        case .ended(let failure): if lastWord?.frame == nil { lastWord = (nil, failure) }
        }
    }

    /// Ends the connection when the system has reported both parts of its end, or one part and then nothing for a while.
    ///
    /// The parts are that no more messages come, and the reason of the end. They arrive in any order. Messages that the system still
    /// holds are read first, as fast as the app takes them.
    func settleEnd() {
        guard !isOver, readFailure != nil || lastWord != nil else { return }
        let isTold = readFailure != nil && lastWord != nil
        let isLate = lingersUntil.map { now >= $0 } ?? false
        if isTold || isLate || (lastWord != nil && isDiscarding) { return end() }
        // The close handshake has its own deadline, and a slow app must not be timed out.
        let waits = lastWord == nil ? !closing.isClosing : isArmed
        lingersUntil = waits ? lingersUntil ?? now + Self.linger : nil
    }

    private func end() {
        if let frame = lastWord?.frame {
            feedClosing(.peerClose(frame))
        } else if let reason = lastWord?.failure ?? readFailure, !closing.isClosing {
            failure = failure ?? TransportError(reason, isOpening: false)
        }
        feedClosing(.transportEnded)
    }

    private static let batchSize = 16 * 1024

    /// Sends waiting messages once the system has accepted the previous ones, and then the close frame.
    func pump() {
        var isDrained = inFlight == 0
        if isDrained, !isOver {
            let entries = ports.outbound.take(upTo: Self.batchSize)
            for entry in entries { send(entry) }
            notifyMarks()
            isDrained = entries.isEmpty
            // One batch per turn: pieces that are only collected must not delay other inputs.
            if !isDrained, inFlight == 0 { post.yield(.work) }
        }
        // A connection that is given up does not wait for anything.
        if let frame = closeFrame, isDrained || isDiscarding {
            closeFrame = nil
            socket.close(code: Int(frame.code?.rawValue ?? CloseCode.noStatus.rawValue), reason: Array(frame.reason.utf8))
        }
    }

    func noteSent(_ failure: SystemFailure?) {
        guard inFlight > 0, !isOver else { return }
        inFlight -= 1
        stalledUntil = inFlight == 0 ? nil : now + settings.stallTimeout
        // The read side reports the end; a message that failed to be sent was not written.
        guard failure == nil else { return }
        notifyMarks()
    }

    private func send(_ entry: OutboundQueue.Entry) {
        switch entry {
        case .message(let message): send(message)
        case .chunk(let chunk, _): gather(chunk)
        case .mark(let mark): marks.append(mark)
        }
    }

    private func send(_ message: Message) {
        inFlight += 1
        stalledUntil = stalledUntil ?? now + settings.stallTimeout
        traffic += LinkTraffic(bytesOut: message.byteCount, messagesOut: 1, payloadOut: message.byteCount)
        ports.meter.notify(traffic)
        socket.send(message) { [post] in post.yield(.sent($0)) }
    }

    /// Collects the pieces of a message, because the system accepts only whole messages.
    private func gather(_ chunk: MessageChunk) {
        if gathered == nil { gathered = (chunk.kind, []) }
        // Appended in place: copying all collected bytes for each piece would cost more and more.
        gathered?.bytes += chunk.bytes
        guard let count = gathered?.bytes.count, count <= settings.messageLimit else {
            return stopHalfSent(TransportError(.tooLarge, "over URLSession a message in pieces has at most \(settings.messageLimit) bytes"))
        }
        guard chunk.isLast, let message = gathered.take() else { return }
        guard message.kind == .text else { return send(.binary(message.bytes)) }
        let text = String(decoding: message.bytes, as: UTF8.self)
        // The system accepts a text only as a string, and a repaired string would be another message.
        guard text.utf8.elementsEqual(message.bytes) else {
            return stopHalfSent(TransportError(.codec, "over URLSession a text in pieces has to be UTF-8"))
        }
        send(.text(text))
    }

    private func stopHalfSent(_ error: TransportError) {
        gathered = nil
        giveUp(error, CloseFrame(.internalError, reason: "a message was given up half sent"))
    }

    private func notifyMarks() {
        guard inFlight == 0, gathered == nil else { return }
        for mark in marks { ports.outbound.wrote(mark) }
        marks = []
    }
}

extension CloseFrame {
    /// Converts a code of the system; its enumeration names only codes below 1016, others are plain numbers.
    init(systemCode code: Int, reason: [UInt8]) {
        let code = UInt16(exactly: code).map(CloseCode.init(rawValue:))
        self.init(code.flatMap { $0.mayBeReceived ? $0 : nil }, reason: String(decoding: reason, as: UTF8.self))
    }
}
