import CodecCore
import MachineCore
import ProtocolCore
import SocketIOCore
import WebSocketCore

extension FuzzTarget {
    /// Messages of a server for a client with two namespaces, a listener to all events in each, and events that want acknowledgements.
    ///
    /// An event ends at most once, and nothing comes after its end.
    static func socketIOServer(_ input: inout FuzzInput) throws {
        let version = version(input)
        let coding = SocketIOCoding(version)
        var policy = SocketIOPolicy()
        policy.version = version
        (policy.packetBytes, policy.attachmentLimit, policy.answerLimit) = (4096, 16, 16)
        var (machine, effects) = (SocketIOMachine(policy), [SocketIOMachine.Effect]())
        var open: Set<RequestID> = []
        func id(_ number: UInt64) -> RequestID {
            open.insert(RequestID(number))
            return RequestID(number)
        }
        for (number, name) in ["/", "/chat"].enumerated() {
            let first = UInt64(number * 10 + 1)
            let arguments = SocketIOArguments(json: Array(#"["a",1]"#.utf8))
            for command: SocketIOMachine.Command in [
                .join(id(first), name, hasPayload: false), .listen(id(first + 1), name, event: nil),
                .emit(SocketIOEmit(id(first + 2), name, arguments, .acknowledged), patience: nil),
                .emit(SocketIOEmit(id(first + 3), name, arguments, .retried(2, after: .seconds(5))), patience: nil),
            ] { machine.handle(.command(command), at: .start, into: &effects) }
        }
        machine.handle(.opened(coding.greeting), at: .start, into: &effects)
        for (second, line) in input.text.split(separator: "\n").enumerated() {
            let now = Moment(.seconds(second))
            machine.wake(at: now, into: &effects)
            let message = line.first == "b" ? Message.binary(Array(line.utf8.dropFirst())) : .text(String(line))
            do {
                guard let reply = try coding.decode(message) else { continue }
                machine.handle(.received(reply), at: now, into: &effects)
            } catch {
                machine.handle(.undecodable("\(error)"), at: now, into: &effects)
            }
            var handled = 0
            while handled < effects.count {
                switch effects[handled] {
                case .send(let message): try checkPacket(coding.encode(message))
                case .event(let event): try check(event, &open, &machine, at: now, &effects)
                case .end(.stop): return
                case .end:
                    machine.handle(.lost(unsent: []), at: now, into: &effects)
                    machine.handle(.opened(coding.greeting), at: now, into: &effects)
                default: break
                }
                handled += 1
            }
            effects.removeAll()
        }
    }

    /// The last byte chooses the protocol.
    private static func version(_ input: FuzzInput) -> SocketIOVersion { input.text.last == "4" ? .v4 : .v5 }

    private static func check(
        _ event: SocketIOMachine.Event, _ open: inout Set<RequestID>, _ machine: inout SocketIOMachine, at now: Moment,
        _ effects: inout [SocketIOMachine.Effect]
    ) throws {
        guard let id = event.request else { throw Finding(description: "an event without a request: \(event)") }
        try expect(open.contains(id), "an event after the end of \(id): \(event)")
        if event.isLast { open.remove(id) }
        guard case .message(let message) = event.content else { return }
        try expect(message.arguments.size <= 4096 + 100, "a message larger than the limit")
        // A placeholder may be wrong, which is an error and no crash.
        let values = try? message.arguments.values()
        guard let number = message.id else { return }
        let answer = (try? SocketIOArguments(values ?? [])) ?? SocketIOArguments(json: Array("[]".utf8))
        let name = id.number < 10 ? "/" : "/chat"
        machine.handle(.command(.answer(name, id: number, session: message.session, answer)), at: now, into: &effects)
    }

    /// What the client sends is a packet that it could read itself.
    private static func checkPacket(_ message: Message) throws {
        guard case .text(let text) = message, text != "2", text != "3" else { return }
        do { try expect(try SocketIOCoding().decode(message) != nil, "it sends no packet: \(text)") } catch is CodecError {
            throw Finding(description: "it sends a packet that cannot be read: \(text)")
        }
    }

    /// A list of inputs, one a line: its first letter says which, and the rest is a body or a message.
    ///
    /// There is one request of a kind at a time, the app gets only what it wants, and its packets leave once and in their order.
    static func enginePolling(_ input: inout FuzzInput) throws {
        let version = version(input)
        var machine = EnginePolling(upgrades: true, version)
        var (polls, posts, isWanted, isOver, isReading, isOpening) = (0, 0, false, false, false, false)
        var (sent, left, confirmed) = ([Message](), [Message](), 0)
        func feed(_ input: EnginePolling.Input) throws {
            var effects: [EnginePolling.Effect] = []
            machine.handle(input, at: .start, into: &effects)
            try expect(!isOver || effects.isEmpty, "effects after the end: \(effects)")
            for effect in effects {
                switch effect {
                case .poll: polls += 1
                case .post(let body):
                    posts += 1
                    var payload = EnginePayload(body, version)
                    while let packet = try payload.next() { left.append(packet) }
                case .deliver:
                    try expect(isWanted, "the app wants nothing")
                    isWanted = false
                case .sent(let count): confirmed += count
                case .openWebSocket: isOpening = true
                case .readWebSocket: isReading = true
                case .writeWebSocket(let message):
                    left.append(message)
                    confirmed += 1
                case .controlWebSocket: break
                case .dropWebSocket: (isReading, isOpening) = (false, false)
                case .ended: isOver = true
                case .opened, .closeWebSocket: break
                }
            }
            try expect(polls <= 1 && posts <= 1, "two requests of a kind")
            left.removeAll { $0 == .text("1") }
            try expect(left == Array(sent.prefix(left.count)), "packets leave in another order")
            try expect(confirmed <= sent.count + 1, "more packets are confirmed than were sent")
        }
        try feed(.start)
        for line in input.text.split(separator: "\n", omittingEmptySubsequences: true) {
            let rest = line.dropFirst()
            switch line.first {
            case "p" where polls > 0:
                polls -= 1
                try feed(.polled(Array(rest.utf8)))
            case "o" where posts > 0:
                posts -= 1
                try feed(.posted)
            case "w" where !isWanted:
                isWanted = true
                try feed(.wanted)
            case "s":
                let message = Message.text("4\(sent.count)")
                sent.append(message)
                try feed(.send(message))
            case "b":
                let message = Message.binary(Array(rest.utf8))
                sent.append(message)
                try feed(.send(message))
            case "O" where isOpening:
                isOpening = false
                try feed(.webSocketOpened)
            case "m" where isReading:
                isReading = false
                try feed(.webSocketReceived(.text(String(rest))))
            case "e": try feed(.webSocketEnded)
            case "c": try feed(.close)
            case "f": try feed(.failed)
            default: break
            }
        }
    }
}
