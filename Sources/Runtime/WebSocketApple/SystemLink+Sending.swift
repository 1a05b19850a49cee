import DequeModule
import MachineCore
import WebSocketCore
import WebSocketRuntime

extension SystemLink {
    private static let batchSize = 16 * 1024

    /// Gives the system what waits, as soon as it has taken what it got before; then the close frame.
    func pump() {
        var isDrained = inFlight == 0
        if isDrained, !isOver {
            let entries = ports.outbound.take(upTo: Self.batchSize)
            for entry in entries { send(entry) }
            tellMarks()
            isDrained = entries.isEmpty
            // One batch a turn: pieces that are only gathered must not hold back what else has happened.
            if !isDrained, inFlight == 0 { post.yield(.work) }
        }
        // What is given up waits for nothing.
        if let frame = closeFrame, isDrained || isDiscarding {
            closeFrame = nil
            socket.close(code: Int(frame.code?.rawValue ?? CloseCode.noStatus.rawValue), reason: Array(frame.reason.utf8))
        }
    }

    func noteSent(_ failure: SystemFailure?) {
        guard inFlight > 0, !isOver else { return }
        inFlight -= 1
        stalledUntil = inFlight == 0 ? nil : now + settings.stallTimeout
        // The end is told by what is read; a message that failed is one that was not written.
        guard failure == nil else { return }
        tellMarks()
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
        ports.meter.tell(traffic)
        socket.send(message) { [post] in post.yield(.sent($0)) }
    }

    /// The system takes whole messages only.
    private func gather(_ chunk: MessageChunk) {
        if gathered == nil { gathered = (chunk.kind, []) }
        // In place: a copy of what was gathered for each piece would cost more with each.
        gathered?.bytes += chunk.bytes
        guard let count = gathered?.bytes.count, count <= settings.messageLimit else {
            return giveUp(TransportError(.tooLarge, "over URLSession a message in pieces has at most \(settings.messageLimit) bytes"))
        }
        guard chunk.isLast, let message = gathered.take() else { return }
        guard message.kind == .text else { return send(.binary(message.bytes)) }
        let text = String(decoding: message.bytes, as: UTF8.self)
        // The system takes no bytes for a text, and mended ones would be another message.
        guard text.utf8.elementsEqual(message.bytes) else {
            return giveUp(TransportError(.codec, "over URLSession a text in pieces has to be UTF-8"))
        }
        send(.text(text))
    }

    private func giveUp(_ error: TransportError) {
        gathered = nil
        isDiscarding = true
        failure = failure ?? error
        ports.outbound.finish(error, discarding: true)
        feedClosing(.fail(CloseFrame(.internalError, reason: "a message was given up half sent")))
    }

    private func tellMarks() {
        guard inFlight == 0, gathered == nil else { return }
        for mark in marks { ports.outbound.wrote(mark) }
        marks = []
    }
}
