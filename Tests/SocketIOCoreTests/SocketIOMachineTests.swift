import CodecCore
import HoldfastTesting
import MachineCore
import ProtocolCore
import SocketIOCore
import Testing
import WebSocketCore

/// A machine whose inputs the test chooses, by a clock that the test moves.
struct SocketIOBench {
    var machine: SocketIOMachine
    var now = Moment.start
    private(set) var sent: [SocketIORequest] = []
    private(set) var ends: [ConnectionEnd] = []
    private(set) var events: [SocketIOMachine.Event] = []
    private(set) var readies = 0

    init(_ change: (inout SocketIOPolicy) -> Void = { _ in }) {
        var policy = SocketIOPolicy()
        change(&policy)
        machine = SocketIOMachine(policy)
    }

    /// A machine with one namespace, 1000, that the server has accepted.
    static func connected(
        _ name: String = "/", hasPayload: Bool = false, reply: String = #"{"sid":"s"}"#, _ change: (inout SocketIOPolicy) -> Void = { _ in }
    ) -> SocketIOBench {
        var bench = SocketIOBench(change)
        bench.perform(.join(RequestID(1000), name, hasPayload: hasPayload))
        bench.open()
        if hasPayload { bench.perform(.authenticate(name, payload: nil)) }
        bench.accept(name, reply)
        _ = (bench.takeSent(), bench.takeEvents())
        return bench
    }

    mutating func handle(_ input: SocketIOMachine.Input) {
        var effects: [SocketIOMachine.Effect] = []
        machine.handle(input, at: now, into: &effects)
        note(effects)
    }

    mutating func perform(_ command: SocketIOMachine.Command) { handle(.command(command)) }

    /// Lets time pass, and wakes the machine at its deadlines.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            var effects: [SocketIOMachine.Effect] = []
            machine.wake(at: now, into: &effects)
            note(effects)
        }
        now = end
    }

    private mutating func note(_ effects: [SocketIOMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let message): sent.append(message)
            case .end(let end): ends.append(end)
            case .event(let event): events.append(event)
            case .ready: readies += 1
            case .connect: break
            }
        }
    }

    mutating func open(_ handshake: EngineHandshake = EngineHandshake(sid: "e")) {
        handle(.opened(nil))
        handle(.received(.opened(handshake)))
    }

    mutating func lose(unsent: [SocketIORequest] = []) { handle(.lost(unsent: unsent)) }

    mutating func receive(_ text: String) throws {
        if let reply = try SocketIOCoding().decode(.text(text)) { handle(.received(reply)) }
    }

    mutating func accept(_ name: String = "/", _ json: String = #"{"sid":"s"}"#) {
        handle(.received(.packet(SocketIOPacket(.connect, namespace: name, json: Array(json.utf8)))))
    }

    mutating func emit(
        _ number: UInt64, _ kind: SocketIOEmit.Kind = .plain, to name: String = "/", attachments: [[UInt8]] = [],
        within patience: Duration? = nil
    ) {
        perform(.emit(Self.emit(number, kind, to: name, attachments: attachments), patience: patience))
    }

    mutating func takeSent() -> [SocketIORequest] {
        defer { sent = [] }
        return sent
    }

    mutating func takeEvents() -> [SocketIOMachine.Event] {
        defer { events = [] }
        return events
    }

    /// The events but those that say that the state has changed.
    mutating func takeNews() -> [SocketIOMachine.Event] { takeEvents().filter { $0.content != .changed } }

    static func emit(_ number: UInt64, _ kind: SocketIOEmit.Kind = .plain, to name: String = "/", attachments: [[UInt8]] = [])
        -> SocketIOEmit
    {
        SocketIOEmit(RequestID(number), name, SocketIOArguments(json: Array("[\"e\",\(number)]".utf8), attachments: attachments), kind)
    }
    static func sending(_ number: UInt64, _ kind: SocketIOEmit.Kind = .plain, to name: String = "/") -> SocketIORequest {
        .event(emit(number, kind, to: name), acknowledgement: kind == .plain || kind == .volatile ? nil : Int(number))
    }
    static func event(_ number: UInt64, _ content: SocketIOMachine.Event.Content, isLast: Bool = true) -> SocketIOMachine.Event {
        SocketIOMachine.Event(request: RequestID(number), content: content, isLast: isLast)
    }
}

/// The rules of a Socket.IO client, one by one.
@Suite struct SocketIOMachineTests {
    private typealias Bench = SocketIOBench

    private func state(_ bench: SocketIOBench, _ name: String = "/") -> SocketIONamespace.State? { bench.machine.state(of: name)?.state }

    // MARK: - Namespaces

    @Test func `namespaces are asked for when the server has opened the connection, each with its payload`() {
        var bench = Bench()
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        bench.perform(.join(RequestID(2), "/chat", hasPayload: true))
        bench.handle(.opened(nil))
        #expect(bench.takeSent() == [])
        bench.handle(.received(.opened(EngineHandshake(sid: "e"))))
        #expect(bench.takeSent() == [.connect("/", payload: nil)])
        #expect(bench.takeNews() == [Bench.event(2, .payloadNeeded, isLast: false)])
        bench.perform(.authenticate("/chat", payload: Array(#"{"a":1}"#.utf8)))
        #expect(bench.takeSent() == [.connect("/chat", payload: Array(#"{"a":1}"#.utf8))])
        #expect(bench.readies == 0)
        bench.accept("/chat", #"{"sid":"c"}"#)
        #expect(bench.readies == 1)
        #expect(state(bench, "/chat") == .connected(sid: "c", isRecovered: false))
        // A namespace that joins later is asked for at once.
        bench.perform(.join(RequestID(3), "/late", hasPayload: false))
        #expect(bench.takeSent() == [.connect("/late", payload: nil)])
        #expect(bench.ends == [])
    }

    @Test func `a refusal asks for another payload after a pause, and the last one is final`() throws {
        var bench = Bench { $0.refusals = 2 }
        bench.perform(.join(RequestID(1), "/chat", hasPayload: true))
        bench.perform(.listen(RequestID(2), "/chat", event: "e"))
        bench.emit(3, .acknowledged, to: "/chat")
        bench.open()
        bench.perform(.authenticate("/chat", payload: nil))
        _ = bench.takeEvents()
        try bench.receive(#"44/chat,{"message":"no","data":{"code":7}}"#)
        let refusal = SocketIORefusal("no", data: ["code": 7])
        guard case .pausing(_, refusal)? = state(bench, "/chat") else { return #expect(Bool(false), "\(bench.machine)") }
        bench.pass(.seconds(1))
        #expect(bench.takeNews() == [Bench.event(1, .payloadNeeded, isLast: false)])
        bench.perform(.authenticate("/chat", payload: nil))
        try bench.receive(#"44/chat,"no""#)
        #expect(state(bench, "/chat") == .refused(SocketIORefusal("no")))
        #expect(
            bench.takeNews() == [
                Bench.event(3, .failed(.refused(SocketIORefusal("no")))), Bench.event(2, .failed(.refused(SocketIORefusal("no")))),
            ])
        #expect(bench.ends == [])
        // The app may ask again, and a reconnect does not.
        bench.lose()
        bench.open()
        #expect(bench.takeNews() == [])
        bench.perform(.connect("/chat"))
        #expect(bench.takeNews() == [Bench.event(1, .payloadNeeded, isLast: false)])
    }

    @Test func `without a payload the first refusal is final, and so is a payload that cannot be had`() throws {
        var bench = Bench()
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        bench.open()
        try bench.receive(#"44{"message":"no"}"#)
        #expect(state(bench) == .refused(SocketIORefusal("no")))

        bench = Bench()
        bench.perform(.join(RequestID(1), "/", hasPayload: true))
        bench.open()
        bench.perform(.noPayload("/", reason: "signed out", isFinal: true))
        #expect(state(bench) == .refused(SocketIORefusal("signed out")))
        // A late payload changes nothing.
        bench.perform(.authenticate("/", payload: nil))
        #expect(bench.takeSent() == [])
    }

    @Test func `a namespace that the server leaves stays so until the app asks again`() throws {
        var bench = Bench.connected()
        bench.emit(1, .acknowledged)
        _ = bench.takeSent()
        try bench.receive("41")
        #expect(state(bench) == .left(byServer: true))
        #expect(bench.takeNews() == [Bench.event(1, .failed(.lost))])
        bench.emit(2)
        #expect(bench.takeNews() == [Bench.event(2, .failed(.disconnected))])
        // Nobody has asked for this.
        bench.accept()
        #expect(state(bench) == .left(byServer: true))
        bench.perform(.connect("/"))
        #expect(bench.takeSent() == [.connect("/", payload: nil)])
        #expect(bench.ends == [])
    }

    @Test func `the last reference that goes leaves the namespace, and a late answer does not matter`() throws {
        var bench = Bench.connected("/chat")
        bench.perform(.join(RequestID(2), "/chat", hasPayload: false))
        bench.perform(.leave(RequestID(1000), "/chat"))
        #expect(bench.takeSent() == [])
        bench.perform(.leave(RequestID(2), "/chat"))
        #expect(bench.takeSent() == [.disconnect("/chat")])
        try bench.receive(#"42/chat,["e"]"#)
        try bench.receive(#"40/chat,{"sid":"s"}"#)
        #expect(bench.ends == [] && state(bench, "/chat") == nil)
    }

    @Test func `of several references, the first with a payload is asked, and another if it leaves`() {
        var bench = Bench()
        for (number, hasPayload) in [(1, false), (2, true), (3, true)] as [(UInt64, Bool)] {
            bench.perform(.join(RequestID(number), "/", hasPayload: hasPayload))
        }
        bench.open()
        #expect(bench.takeNews() == [Bench.event(2, .payloadNeeded, isLast: false)])
        bench.perform(.leave(RequestID(2), "/"))
        #expect(bench.takeNews() == [Bench.event(3, .payloadNeeded, isLast: false)])
        bench.perform(.leave(RequestID(3), "/"))
        #expect(bench.takeSent() == [.connect("/", payload: nil)])
    }

    // MARK: - The connection

    @Test func `a ping is answered, and a connection without one is cut`() {
        var bench = Bench.connected()
        bench.pass(.seconds(44))
        bench.handle(.received(.ping))
        #expect(bench.takeSent() == [.pong])
        bench.pass(.seconds(44))
        #expect(bench.ends == [])
        bench.pass(.seconds(2))
        #expect(bench.ends == [.cut(reason: "the server sent no ping in time")])
    }

    @Test func `while nothing is read, silence is not the server's fault`() {
        var bench = Bench()
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        bench.open()
        bench.handle(.paused)
        bench.pass(.seconds(500))
        #expect(bench.ends == [])
        bench.handle(.resumed)
        bench.pass(.seconds(100))
        #expect(bench.ends.count == 1)
    }

    @Test func `a server that says nothing at first, or nothing for a namespace, is left`() {
        var bench = Bench()
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        bench.handle(.opened(nil))
        bench.pass(.seconds(21))
        #expect(bench.ends.count == 1)
        bench.lose()
        bench.open()
        bench.pass(.seconds(21))
        #expect(bench.ends.count == 2 && bench.readies == 0)
    }

    @Test func `a server that ends the connection is asked again`() {
        var bench = Bench.connected()
        bench.handle(.received(.closed))
        #expect(bench.ends == [.cut(reason: "the server ended the connection")])
        #expect(state(bench) == .connected(sid: "s", isRecovered: false))
        bench.lose()
        #expect(state(bench) == .absent)
    }

    @Test(arguments: [#"42["a"]"#, "2"]) func `nothing may come before the first message`(text: String) throws {
        var bench = Bench()
        bench.handle(.opened(nil))
        try bench.receive(text)
        #expect(bench.ends.count == 1)
        // What follows does not count.
        try bench.receive(text)
        #expect(bench.ends.count == 1)
    }

    @Test func `a reply without an id, as of an old server, ends the connection`() throws {
        var bench = Bench()
        bench.perform(.join(RequestID(1), "/", hasPayload: false))
        bench.open()
        try bench.receive("40{}")
        #expect(bench.ends.count == 1)
    }

    // MARK: - Events of the app

    @Test func `an event is written when there is a session, and waits in order without one`() {
        var bench = Bench()
        bench.perform(.join(RequestID(1000), "/", hasPayload: false))
        bench.emit(1)
        bench.emit(2, .acknowledged, within: .seconds(500))
        bench.emit(3, .volatile)
        #expect(bench.takeNews() == [Bench.event(3, .failed(.dropped))])
        bench.open()
        bench.accept()
        #expect(bench.takeSent() == [.connect("/", payload: nil), Bench.sending(1), Bench.sending(2, .acknowledged)])
        #expect(bench.takeNews() == [Bench.event(1, .written)])
        bench.emit(4, .volatile)
        #expect(bench.takeSent() == [Bench.sending(4, .volatile)])
        #expect(bench.takeNews() == [Bench.event(4, .written)])
        // This side has ended the connection, and does not know its loss yet.
        bench.handle(.received(.closed))
        bench.emit(5, .volatile)
        #expect(bench.takeNews() == [Bench.event(5, .failed(.dropped))])
    }

    @Test func `an acknowledgement ends an event once, and an unknown one does not matter`() throws {
        var bench = Bench.connected()
        bench.emit(7, .acknowledged)
        bench.emit(8)
        _ = bench.takeEvents()
        for text in [#"439["x"]"#, "430[]", "438[]", #"437["ok"]"#, #"437["ok"]"#] { try bench.receive(text) }
        #expect(bench.takeNews() == [Bench.event(7, .acknowledged(SocketIOArguments(json: Array(#"["ok"]"#.utf8))))])
        #expect(bench.ends == [])
    }

    @Test func `an event without an acknowledgement in time says whether it was sent`() {
        var bench = Bench()
        bench.perform(.join(RequestID(1000), "/", hasPayload: false))
        bench.emit(1, .acknowledged, within: .seconds(5))
        bench.emit(2, within: .seconds(5))
        bench.pass(.seconds(6))
        #expect(
            Set(bench.takeNews()) == [
                Bench.event(1, .failed(.timedOut(mayHaveArrived: false))), Bench.event(2, .failed(.timedOut(mayHaveArrived: false))),
            ])
        bench.open()
        bench.accept()
        bench.emit(3, .acknowledged, within: .seconds(5))
        bench.pass(.seconds(6))
        #expect(bench.takeNews() == [Bench.event(3, .failed(.timedOut(mayHaveArrived: true)))])
    }

    @Test func `after a loss, what the connection had not taken is sent again in order, and no other event`() {
        var bench = Bench.connected()
        for number in 1...4 as ClosedRange<UInt64> { bench.emit(number, number.isMultiple(of: 2) ? .acknowledged : .plain) }
        bench.emit(5, attachments: [[1], [2]])
        bench.emit(6, .acknowledged, attachments: [[1], [2]])
        _ = (bench.takeSent(), bench.takeEvents())
        // Of the last one, the connection has taken all but a byte string.
        bench.lose(unsent: [Bench.sending(3), Bench.sending(4, .acknowledged), .attachment([2], of: RequestID(6)), .pong])
        #expect(bench.takeNews() == [Bench.event(2, .failed(.lost))])
        bench.emit(7)
        bench.open()
        bench.accept()
        let whole = Bench.emit(6, .acknowledged, attachments: [[1], [2]])
        #expect(
            bench.takeSent() == [
                .connect("/", payload: nil), Bench.sending(3), Bench.sending(4, .acknowledged), .event(whole, acknowledgement: 6),
                .attachment([1], of: RequestID(6)), .attachment([2], of: RequestID(6)), Bench.sending(7),
            ])
        // The app knew of the third one.
        #expect(bench.takeNews() == [Bench.event(7, .written)])
    }

    @Test func `events that wait are limited in number and in bytes, and in what the server accepts`() {
        var bench = Bench {
            $0.emitLimit = 2
            $0.emitBytes = 100
        }
        bench.perform(.join(RequestID(1000), "/", hasPayload: false))
        for number in 1...3 as ClosedRange<UInt64> { bench.emit(number) }
        #expect(bench.takeNews() == [Bench.event(3, .failed(.tooMany))])
        bench.perform(.cancel(RequestID(1), "/"))
        bench.emit(4, attachments: [[UInt8](repeating: 0, count: 100)])
        #expect(bench.takeNews() == [Bench.event(4, .failed(.tooMany))])
        bench.handle(.opened(nil))
        bench.handle(.received(.opened(EngineHandshake(sid: "e", maximumBytes: 50))))
        bench.accept()
        #expect(bench.takeNews() == [Bench.event(2, .written)])
        bench.emit(5, attachments: [[UInt8](repeating: 0, count: 51)])
        #expect(bench.takeNews() == [Bench.event(5, .failed(.tooLarge(50)))])
    }

    @Test func `a cancelled event is not sent, and its late acknowledgement does not matter`() throws {
        var bench = Bench()
        bench.perform(.join(RequestID(1000), "/", hasPayload: false))
        bench.emit(1, .acknowledged)
        bench.perform(.cancel(RequestID(1), "/"))
        bench.open()
        bench.accept()
        #expect(bench.takeSent() == [.connect("/", payload: nil)])
        try bench.receive("431[]")
        #expect(bench.takeNews() == [])
    }

    // MARK: - Sent again until acknowledged

    @Test func `an event with retries is sent again, and the next one follows its acknowledgement`() throws {
        var bench = Bench.connected()
        let kind = SocketIOEmit.Kind.retried(2, after: .seconds(5))
        bench.emit(1, kind)
        bench.emit(2, kind)
        bench.emit(3)
        #expect(bench.takeSent() == [Bench.sending(1, kind), Bench.sending(3)])
        bench.pass(.seconds(5))
        #expect(bench.takeSent() == [Bench.sending(1, kind)])
        try bench.receive("432[]")
        #expect(bench.takeNews() == [Bench.event(3, .written)], "the second one was not sent yet")
        try bench.receive("431[]")
        #expect(bench.takeNews() == [Bench.event(1, .acknowledged(SocketIOArguments(json: Array("[]".utf8))))])
        #expect(bench.takeSent() == [Bench.sending(2, kind)])
        bench.pass(.seconds(16))
        #expect(bench.takeSent() == [Bench.sending(2, kind), Bench.sending(2, kind)])
        #expect(bench.takeNews() == [Bench.event(2, .failed(.timedOut(mayHaveArrived: true)))])
    }

    @Test func `after a loss an event with retries is sent again, in its order`() throws {
        var bench = Bench.connected()
        let kind = SocketIOEmit.Kind.retried(1, after: .seconds(5))
        bench.emit(1, kind)
        bench.emit(2, kind)
        _ = bench.takeSent()
        bench.lose()
        #expect(bench.takeNews() == [])
        bench.pass(.seconds(60))
        bench.open()
        bench.accept()
        #expect(bench.takeSent() == [.connect("/", payload: nil), Bench.sending(1, kind)])
        bench.perform(.cancel(RequestID(1), "/"))
        #expect(bench.takeSent() == [Bench.sending(2, kind)])
        try bench.receive("432[]")
        #expect(bench.takeNews().count == 1)
    }

    // MARK: - Events of the server

    @Test func `an event reaches those that listen to its name, and those that listen to all`() throws {
        var bench = Bench.connected()
        bench.perform(.listen(RequestID(1), "/", event: "a"))
        bench.perform(.listen(RequestID(2), "/", event: nil))
        func names() -> [(RequestID?, String)] {
            bench.takeNews().compactMap { news in if case .message(let message) = news.content { (news.request, message.name) } else { nil }
            }
        }
        try bench.receive(#"42["a",1]"#)
        #expect(names().map { "\($0.0?.number ?? 0)\($0.1)" } == ["1a", "2a"])
        try bench.receive(#"42["b"]"#)
        #expect(names().map { "\($0.0?.number ?? 0)\($0.1)" } == ["2b"])
        bench.perform(.unlisten(RequestID(1), "/", event: "a"))
        bench.perform(.unlisten(RequestID(2), "/", event: nil))
        try bench.receive(#"42["a"]"#)
        #expect(names().isEmpty)
    }

    @Test func `an answer is sent once, and not on another connection`() throws {
        var bench = Bench.connected()
        bench.perform(.listen(RequestID(1), "/", event: "ask"))
        try bench.receive(#"425["ask"]"#)
        guard case .message(let message)? = bench.takeNews().first?.content else { return #expect(Bool(false)) }
        let answer = SocketIOArguments(json: Array("[1]".utf8), attachments: [[9]])
        for _ in 1...2 { bench.perform(.answer("/", id: 5, session: message.session, answer)) }
        #expect(bench.takeSent() == [.answer("/", id: 5, answer), .attachment([9], of: nil)])
        try bench.receive(#"426["ask"]"#)
        bench.lose()
        bench.open()
        bench.accept()
        _ = bench.takeSent()
        // There the server may use the number again.
        try bench.receive(#"426["ask"]"#)
        bench.perform(.answer("/", id: 6, session: message.session, answer))
        #expect(bench.takeSent() == [])
        bench.perform(.answer("/", id: 6, session: message.session + 1, answer))
        #expect(bench.takeSent().first == .answer("/", id: 6, answer))
    }

    @Test func `byte strings follow their packet, and a packet that stays incomplete ends the connection`() throws {
        var bench = Bench.connected()
        bench.perform(.listen(RequestID(1), "/", event: "a"))
        try bench.receive(#"452-["a",{"_placeholder":true,"num":1},{"_placeholder":true,"num":0}]"#)
        bench.handle(.received(.attachment([1])))
        bench.handle(.received(.ping))
        #expect(bench.takeNews() == [])
        bench.handle(.received(.attachment([2])))
        guard case .message(let message)? = bench.takeNews().first?.content else { return #expect(Bool(false)) }
        #expect(try message.arguments.values() == ["a", .bytes([2]), .bytes([1])])

        try bench.receive(#"451-["a"]"#)
        bench.pass(.seconds(21))
        #expect(bench.ends.count == 1)
    }

    @Test(arguments: [
        [SocketIOReply.attachment([1])],
        [
            .packet(SocketIOPacket(.binaryEvent, namespace: "/", attachments: 2, json: [])),
            .packet(SocketIOPacket(.disconnect, namespace: "/x")),
        ],
        [.packet(SocketIOPacket(.binaryEvent, namespace: "/", attachments: 4, json: []))],
        [.packet(SocketIOPacket(.binaryEvent, namespace: "/", attachments: 2, json: [])), .attachment([1, 2, 3, 4])],
        [.opened(EngineHandshake(sid: "again"))],
    ])
    func `byte strings of nobody, missing ones, and too many end the connection`(replies: [SocketIOReply]) {
        var bench = Bench.connected {
            $0.attachmentLimit = 3
            $0.packetBytes = 3
        }
        for reply in replies { bench.handle(.received(reply)) }
        #expect(bench.ends.count == 1)
    }

    @Test func `unanswered events of the server do not fill the memory`() throws {
        var bench = Bench.connected { $0.answerLimit = 3 }
        bench.perform(.listen(RequestID(1), "/", event: "ask"))
        for number in 1...5 { try bench.receive("42\(number)[\"ask\"]") }
        guard case .message(let message)? = bench.takeNews().last?.content else { return #expect(Bool(false)) }
        for number in 1...5 { bench.perform(.answer("/", id: number, session: message.session, SocketIOArguments(json: []))) }
        #expect(bench.takeSent().count == 2)
    }

    // MARK: - Recovery

    @Test func `a session that the server recovers has no gap`() throws {
        var bench = Bench.connected(hasPayload: true, reply: #"{"sid":"s","pid":"p"}"#)
        bench.perform(.listen(RequestID(1), "/", event: "a"))
        try bench.receive(#"42["a","text","o1"]"#)
        try bench.receive(#"42["a",7]"#)
        _ = bench.takeEvents()
        bench.lose()
        bench.pass(.seconds(3))
        bench.open()
        bench.perform(.authenticate("/", payload: Array(#"{"t":1}"#.utf8)))
        #expect(bench.takeSent() == [.connect("/", payload: Array(#"{"pid":"p","offset":"o1","t":1}"#.utf8))])
        bench.accept("/", #"{"sid":"s","pid":"p"}"#)
        #expect(state(bench) == .connected(sid: "s", isRecovered: true))
        #expect(bench.takeNews().filter { $0.request == RequestID(1) } == [])

        bench.lose()
        bench.pass(.seconds(3))
        bench.open()
        bench.perform(.authenticate("/", payload: nil))
        #expect(bench.takeSent() == [.connect("/", payload: Array(#"{"pid":"p","offset":"o1"}"#.utf8))])
        bench.accept("/", #"{"sid":"s2","pid":"q"}"#)
        #expect(state(bench) == .connected(sid: "s2", isRecovered: false))
        #expect(bench.takeNews().contains(Bench.event(1, .gap(.seconds(3)), isLast: false)))
    }

    @Test func `without a session to recover, each listener gets the gap, and the first connection has none`() {
        var bench = Bench.connected()
        bench.perform(.listen(RequestID(1), "/", event: "a"))
        bench.perform(.listen(RequestID(2), "/", event: nil))
        bench.lose()
        bench.pass(.seconds(2))
        bench.open()
        bench.pass(.seconds(1))
        bench.accept()
        #expect(bench.takeNews() == [1, 2].map { Bench.event($0, .gap(.seconds(3)), isLast: false) })
    }
}
