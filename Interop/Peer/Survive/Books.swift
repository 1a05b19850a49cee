import Holdfast

/// The record of a session: the numbers that were sent and those that came back.
///
/// Numbers come back in order and once. On one connection they have no gap, because messages are lost only with a connection.
struct Books {
    /// A connection or an attempt that ended.
    struct Loss {
        let at: ContinuousClock.Instant
        let code: WebSocketError.Code
    }
    private(set) var sent = 0
    private(set) var refused = 0
    private(set) var received = 0
    private(set) var lost = 0
    private(set) var mostLostAtOnce = 0
    private(set) var last = 0
    private(set) var openings: [ContinuousClock.Instant] = []
    /// The ends of open connections.
    private(set) var deaths: [Loss] = []
    /// The failed attempts.
    private(set) var failures: [Loss] = []
    private(set) var isOver = false
    private(set) var faults: [String] = []
    private var isOpen = false
    /// No message has arrived yet on this connection.
    private var isFresh = false

    /// The message for a number.
    ///
    /// Messages differ in length and content.
    static func message(_ number: Int, padding: Int) -> String {
        "\(number):" + String(repeating: number.isMultiple(of: 2) ? "ab" : "xyz", count: number * 37 % max(1, padding))
    }

    mutating func next() -> Int {
        sent += 1
        return sent
    }

    mutating func noteRefused() { refused += 1 }

    mutating func note(_ event: WebSocketEvent, at now: ContinuousClock.Instant, padding: Int) {
        if isOver { faults.append("something came after the end") }
        if case .opened = event {
            if isOpen { faults.append("opened twice") }
            (isOpen, isFresh) = (true, true)
            openings.append(now)
        } else if case .message(let message) = event {
            note(message, padding: padding)
        } else if case .reconnecting(_, _, let cause) = event {
            let loss = Loss(at: now, code: cause.code)
            if isOpen { deaths.append(loss) } else { failures.append(loss) }
            isOpen = false
        } else if case .closed = event {
            isOver = true
        }
    }

    private mutating func note(_ message: Message, padding: Int) {
        guard case .text(let text) = message, let number = Int(text.prefix { $0 != ":" }), text == Self.message(number, padding: padding)
        else { return faults.append("something came that was never sent") }
        guard number > last else { return faults.append("\(number) came after \(last)") }
        let gap = number - last - 1
        if !isOpen { faults.append("\(number) came while there was no connection") }
        if gap > 0, !isFresh { faults.append("\(last + 1) to \(number - 1) were lost on a connection that lives") }
        (lost, mostLostAtOnce) = (lost + gap, max(mostLostAtOnce, gap))
        (last, received, isFresh) = (number, received + 1, false)
    }
}
