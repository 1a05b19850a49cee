import DequeModule
import MachineCore
import WebSocketCore
import WebSocketRuntime

extension SystemLink {
    private static let batchSize = 16 * 1024

    /// Gives the system what waits, as soon as it has taken what it got before; then the close frame.
    func pump() {
        while inFlight == 0, !isOver {
            let entries = ports.outbound.take(upTo: Self.batchSize)
            guard !entries.isEmpty else { break }
            for entry in entries { send(entry) }
            tellMarks()
        }
        // What is given up waits for nothing.
        if let frame = closeFrame, inFlight == 0 || isDiscarding {
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
        var message = gathered ?? (chunk.kind, [])
        message.bytes += chunk.bytes
        gathered = chunk.isLast ? nil : message
        guard message.bytes.count <= settings.messageLimit else {
            return giveUp(TransportError(.tooLarge, "over URLSession a message in pieces has at most \(settings.messageLimit) bytes"))
        }
        guard chunk.isLast else { return }
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
