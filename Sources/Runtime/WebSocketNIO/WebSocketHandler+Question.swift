import WebSocketCore
import WebSocketRuntime

/// Messages that ask whether the peer lives, in place of pings.
extension WebSocketHandler {
    /// Asks with a message.
    ///
    /// If it cannot leave now, for the socket is full or a message is being sent in pieces, it is not asked for this time: a socket that
    /// stays full has a limit of its own.
    func ask(_ question: PingMessage, _ payload: [UInt8]) {
        hasWork = true  // Word of what was accepted on another thread may still be on its way here.
        drain()
        pingsInOut.append(payload)  // First: the message may fill the buffer.
        guard longFrame == nil, sendNow(question.make()) else {
            pingsInOut.removeLast()
            return feedHeartbeat(.postponed)
        }
        questions.ask(at: now, patience: settings.pingTimeout)
    }

    /// Takes the answers out of what was received.
    func takeAnswers() {
        guard let question = settings.pingMessage, question.takeAnswers(from: &batch, to: &questions) else { return }
        feedHeartbeat(.answered)
    }
}
