import CodecCore
import HoldfastTesting
import MachineCore
import SocketIOCore
import Testing
import WebSocketCore

/// A connection whose requests and WebSocket the test answers.
private struct Bench {
    var machine: EnginePolling
    var now = Moment.start
    /// The effects since the last ``take()``.
    private var effects: [EnginePolling.Effect] = []

    init(upgrades: Bool = true) { machine = EnginePolling(upgrades: upgrades, patience: .seconds(20)) }

    mutating func handle(_ inputs: EnginePolling.Input...) { for input in inputs { machine.handle(input, at: now, into: &effects) } }

    mutating func wake(after time: Duration) {
        now = now + time
        machine.wake(at: now, into: &effects)
    }

    mutating func take() -> [EnginePolling.Effect] {
        defer { effects = [] }
        return effects
    }

    /// Begins a connection, whose first packet the app has taken.
    mutating func open(offering upgrades: String = "\"websocket\"", limit: String = "", and more: String = "") {
        let packet = #"0{"sid":"abc","upgrades":[\#(upgrades)],"pingInterval":25000,"pingTimeout":20000\#(limit)}"#
        handle(.start, .wanted, .polled(Array((packet + more).utf8)))
        _ = take()
    }
}

private func body(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct EnginePayloadTests {
    private func packets(_ bytes: [UInt8], _ version: SocketIOVersion = .v5) throws -> [Message] {
        var payload = EnginePayload(bytes, version)
        var packets: [Message] = []
        while let packet = try payload.next() { packets.append(packet) }
        return packets
    }

    @Test(arguments: [
        ([Message.text("4hello")], "4hello"),
        ([.text("2"), .text("4é"), .binary([1, 2, 3, 4])], "2\u{1E}4é\u{1E}bAQIDBA=="),
        ([.binary([])], "b"),
    ])
    func `packets are written and read`(_ list: [Message], _ text: String) throws {
        #expect(EnginePayload.bytes(of: list) == body(text))
        #expect(try packets(body(text)) == list)
        #expect(list.map { EnginePayload.size(of: $0) }.reduce(list.count - 1, +) == text.utf8.count)
    }

    @Test func `a packet may be empty`() throws {
        #expect(try packets(body("\u{1E}2")) == [.text(""), .text("2")])
        #expect(try packets([]) == [])
    }

    private static let mixed: [Message] = [.text("4hé"), .binary([4, 255]), .text("")]

    @Test func `in protocol 4 packets have their lengths before them`() throws {
        let bytes: [UInt8] = [0, 4, 255, 0x34, 0x68, 0xC3, 0xA9, 1, 2, 255, 4, 255, 0, 0, 255]
        #expect(EnginePayload.bytes(of: Self.mixed, .v4) == bytes)
        #expect(try packets(bytes, .v4) == Self.mixed)
        let long = Message.binary([UInt8](repeating: 7, count: 1234))
        #expect(try packets(EnginePayload.bytes(of: [long, .text("2")], .v4), .v4) == [long, .text("2")])
        for list in [Self.mixed, [long]] {
            #expect(list.map { EnginePayload.size(of: $0, .v4) }.reduce(0, +) == EnginePayload.bytes(of: list, .v4).count)
        }
    }

    @Test func `in a text of protocol 4 the lengths count UTF-16 units`() throws {
        #expect(try packets(body("3:4hé1:22:4x"), .v4) == [.text("4hé"), .text("2"), .text("4x")])
        #expect(try packets(body("5:4€𝄞a2:4b0:"), .v4) == [.text("4€𝄞a"), .text("4b"), .text("")])
    }

    @Test(arguments: [
        body("x"), body("3"), body("3:4a"), body(":"), body("2:4𝄞"), body("99999999999999999999999:4"), [0], [0, 1], [0, 2, 255, 0x34],
        [1, 10, 255], [0, 1, 255, 0xFF], Array("1:".utf8) + [0xFF],
    ])
    func `a broken packet of protocol 4 is an error`(_ bytes: [UInt8]) { #expect(throws: CodecError.self) { try packets(bytes, .v4) } }

    @Test(arguments: [[0x34, 0xFF], Array("bA".utf8), Array("b?===".utf8), Array("2\u{1E}bA".utf8)])
    func `a broken packet is an error`(_ bytes: [UInt8]) { #expect(throws: CodecError.self) { try packets(bytes) } }
}

@Suite struct EnginePollingTests {
    // MARK: - Polling

    @Test func `it opens with a request, and gives the app one packet at a time`() {
        var bench = Bench(upgrades: false)
        bench.handle(.start)
        #expect(bench.take() == [.poll])
        bench.handle(.wanted)
        #expect(bench.take() == [])
        let first = #"0{"sid":"abc","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#
        bench.handle(.polled(body(first + "\u{1E}2\u{1E}4a")))
        #expect(bench.take() == [.opened(sid: "abc"), .deliver(.text(first))])
        bench.handle(.wanted)
        #expect(bench.take() == [.deliver(.text("2"))])
        bench.handle(.wanted)
        #expect(bench.take() == [.deliver(.text("4a"))])
        // Only an app that wants more makes the next request.
        bench.handle(.wanted)
        #expect(bench.take() == [.poll])
        bench.handle(.polled(body("6\u{1E}4b")))
        #expect(bench.take() == [.deliver(.text("4b"))])
    }

    @Test func `an answer of noops is followed by the next request`() {
        var bench = Bench()
        bench.open(offering: "")
        bench.handle(.wanted, .polled(body("6\u{1E}6")))
        #expect(bench.take() == [.poll, .poll])
    }

    @Test(arguments: [
        "", "2", "0", "0{}", "0[]", #"0{"sid":"a"}"#, #"0{"sid":"","pingInterval":1,"pingTimeout":1}"#,
        #"0{"sid":"a","pingInterval":-1,"pingTimeout":1}"#, "bAQ==",
    ])
    func `another first packet ends the connection`(_ text: String) {
        var bench = Bench()
        bench.handle(.start, .wanted, .polled(body(text)))
        guard case .ended(.broken)? = bench.take().last else { return #expect(Bool(false), "it goes on") }
        bench.handle(.wanted, .send(.text("4")), .close)
        #expect(bench.take() == [])
    }

    @Test func `a broken packet ends the connection`() {
        var bench = Bench()
        bench.open(offering: "")
        bench.handle(.wanted, .polled(body("bA")))
        guard case .ended(.broken)? = bench.take().last else { return #expect(Bool(false), "it goes on") }
    }

    @Test func `packets are sent in order, one request at a time, within the server's limit`() {
        var bench = Bench()
        bench.open(offering: "", limit: #","maxPayload":8"#)
        bench.handle(.send(.text("4a")))
        #expect(bench.take() == [.post(body("4a"))])
        for text in ["4b", "4c", "4ddd"] { bench.handle(.send(.text(text))) }
        #expect(bench.take() == [])
        bench.handle(.posted)
        #expect(bench.take() == [.sent(1), .post(body("4b\u{1E}4c"))])
        bench.handle(.posted)
        #expect(bench.take() == [.sent(2), .post(body("4ddd"))])
        bench.handle(.posted)
        #expect(bench.take() == [.sent(1)])
    }

    @Test func `a body has at most 16 packets`() throws {
        var bench = Bench()
        bench.open(offering: "")
        for _ in 0..<20 { bench.handle(.send(.text("4"))) }
        bench.handle(.posted, .posted)
        #expect(
            bench.take() == [
                .post(body("4")), .sent(1), .post(EnginePayload.bytes(of: Array(repeating: .text("4"), count: 16))), .sent(16),
                .post(body("4\u{1E}4\u{1E}4")),
            ])
    }

    @Test func `a packet that is larger than the limit is sent alone`() {
        var bench = Bench()
        bench.open(offering: "", limit: #","maxPayload":4"#)
        bench.handle(.send(.text("4aaaaaa")), .posted, .send(.text("4")))
        #expect(bench.take() == [.post(body("4aaaaaa")), .sent(1), .post(body("4"))])
    }

    @Test func `the app is told a limit that Base64 does not exceed`() throws {
        var bench = Bench()
        bench.handle(.start, .wanted, .polled(body(#"0{"sid":"a","pingInterval":1,"pingTimeout":1,"maxPayload":1000}"#)))
        guard case .deliver(let first)? = bench.take().last else { throw CancellationError() }
        guard case .opened(let handshake)? = try SocketIOCoding().decode(first) else { throw CancellationError() }
        let limit = try #require(handshake.maximumBytes)
        #expect(limit == 746 && EnginePayload.size(of: .binary([UInt8](repeating: 0, count: limit))) <= 1000)
    }

    @Test func `a failed request ends the connection`() {
        var bench = Bench()
        bench.open(offering: "")
        bench.handle(.failed)
        #expect(bench.take() == [.ended(.failed)])
    }

    // MARK: - The WebSocket

    /// A connection whose WebSocket waits for the answer to its probe, with a GET and a POST under way.
    private func probing() -> Bench {
        var bench = Bench()
        bench.open()
        bench.handle(.wanted, .send(.text("4a")), .webSocketOpened)
        #expect(bench.take() == [.poll, .post(body("4a")), .controlWebSocket(.text("2probe")), .readWebSocket])
        return bench
    }

    @Test func `a WebSocket takes over when both requests have ended`() {
        var bench = probing()
        bench.handle(.webSocketReceived(.text("3probe")), .send(.text("4b")))
        #expect(bench.take() == [])
        bench.handle(.posted)
        #expect(bench.take() == [.sent(1)])
        bench.handle(.polled(body("4x\u{1E}4y")))
        // The polled packets come before those of the WebSocket.
        #expect(bench.take() == [.deliver(.text("4x")), .controlWebSocket(.text("5")), .writeWebSocket(.text("4b"))])
        bench.handle(.wanted)
        #expect(bench.take() == [.deliver(.text("4y"))])
        bench.handle(.wanted)
        #expect(bench.take() == [.readWebSocket])
        bench.handle(.webSocketReceived(.text("6")))
        #expect(bench.take() == [.readWebSocket])
        bench.handle(.webSocketReceived(.binary([1])))
        #expect(bench.take() == [.deliver(.binary([1]))])
        bench.handle(.send(.text("4c")))
        #expect(bench.take() == [.writeWebSocket(.text("4c"))])
        bench.handle(.webSocketEnded)
        #expect(bench.take() == [.ended(.failed)])
    }

    @Test(arguments: [EnginePolling.Input.webSocketReceived(.text("3no")), .webSocketReceived(.binary([])), .webSocketEnded])
    func `polling continues if the probe fails`(_ input: EnginePolling.Input) {
        var bench = probing()
        bench.handle(input)
        // A WebSocket that has failed must not answer pings in place of the polling that goes on.
        #expect(bench.take() == [.dropWebSocket])
        bench.handle(.posted, .polled(body("4x")), .wanted, .send(.text("4b")))
        #expect(bench.take() == [.sent(1), .deliver(.text("4x")), .poll, .post(body("4b"))])
        #expect(bench.machine.deadline == nil && !bench.machine.hasUpgraded)
    }

    @Test(arguments: [false, true]) func `polling continues if the WebSocket takes too long`(_ isProbed: Bool) {
        var bench = probing()
        if isProbed { bench.handle(.webSocketReceived(.text("3probe"))) }
        bench.handle(.posted, .send(.text("4b")))
        _ = bench.take()
        bench.wake(after: .seconds(19))
        #expect(bench.take() == [])
        bench.wake(after: .seconds(1))
        #expect(bench.take() == [.dropWebSocket] + (isProbed ? [.post(body("4b"))] : []))
        bench.handle(.webSocketReceived(.text("3probe")), .webSocketEnded)
        #expect(bench.take() == [])
    }

    @Test func `a WebSocket that opens too late is dropped`() {
        var bench = Bench()
        bench.open()
        bench.wake(after: .seconds(20))
        bench.handle(.webSocketOpened)
        #expect(bench.take() == [.dropWebSocket, .dropWebSocket])
    }

    @Test func `no WebSocket is opened if the server offers none, or the app wants none`() {
        for (upgrades, offered) in [(true, #""other""#), (false, #""websocket""#)] {
            var bench = Bench(upgrades: upgrades)
            let packet = #"0{"sid":"a","upgrades":[\#(offered)],"pingInterval":1,"pingTimeout":1}"#
            bench.handle(.start, .polled(body(packet)))
            #expect(bench.take() == [.poll, .opened(sid: "a")])
        }
    }

    // MARK: - Closing

    @Test func `closing sends all packets, and then one that says so`() {
        var bench = Bench()
        bench.open(offering: "")
        bench.handle(.send(.text("4a")), .send(.text("4b")), .close, .close)
        #expect(bench.take() == [.post(body("4a"))])
        bench.handle(.posted)
        #expect(bench.take() == [.sent(1), .post(body("4b\u{1E}1"))])
        bench.handle(.posted)
        #expect(bench.take() == [.sent(2), .ended(.closed)])
    }

    @Test func `closing before the first answer ends at once`() {
        var bench = Bench()
        bench.handle(.start, .close)
        #expect(bench.take() == [.poll, .ended(.closed)])
    }

    @Test func `closing gives up a WebSocket that has not taken over`() {
        var bench = probing()
        bench.handle(.webSocketReceived(.text("3probe")), .posted, .close)
        #expect(bench.take() == [.sent(1), .dropWebSocket, .post(body("1"))])
        bench.handle(.failed)
        #expect(bench.take() == [.ended(.closed)])
    }

    @Test func `closing over the WebSocket closes the WebSocket`() {
        var bench = probing()
        bench.handle(.webSocketReceived(.text("3probe")), .posted, .polled([]), .send(.text("4b")), .close)
        #expect(bench.take().suffix(3) == [.readWebSocket, .writeWebSocket(.text("4b")), .closeWebSocket])
        bench.handle(.webSocketEnded)
        #expect(bench.take() == [.ended(.closed)])
    }

    // MARK: - All orders

    /// A server and its links, in any order that they allow: packets arrive once, in order, over requests and the WebSocket.
    @Test(arguments: UInt64(0)..<300) func `no packet is lost, doubled or overtaken, whatever the order of events`(_ seed: UInt64) throws {
        var world = World(seed: seed)
        for _ in 0..<400 { try world.step() }
        try world.finish()
        #expect(world.delivered == world.emitted)
        #expect(world.arrived == world.sent)
        #expect(world.confirmed == world.sent.count)
        #expect(world.hasUpgraded == (seed % 4 != 0 && !world.isBroken))
    }
}

private struct World {
    private var machine: EnginePolling
    private var random: SplitMix64
    private(set) var (emitted, delivered, sent, arrived): ([Message], [Message], [Message], [Message]) = ([], [], [], [])
    private(set) var confirmed = 0
    // The server.
    private var waiting: [Message] = []
    private var isPolled = false
    private var posted: [UInt8]?
    private(set) var hasUpgraded = false
    // The WebSocket: what is on the way to each side.
    private var (up, down): ([Message], [Message]) = ([], [])
    private var (isOpening, isReading, isProbed, isWanted) = (false, false, false, false)
    private(set) var isBroken = false
    private let mayBreak: Bool
    private let version: SocketIOVersion

    init(seed: UInt64) {
        version = seed % 5 == 0 ? .v4 : .v5
        (random, machine) = (SplitMix64(seed: seed), EnginePolling(upgrades: seed % 4 != 0, version))
        mayBreak = seed % 4 == 1
        feed(.start)
        want()
        isPolled = false
        let first = #"0{"sid":"a","upgrades":["websocket"],"pingInterval":1,"pingTimeout":1,"maxPayload":20}"#
        feed(.polled(EnginePayload.bytes(of: [.text(first)], version)))
        delivered = []
    }

    private mutating func feed(_ input: EnginePolling.Input) {
        var effects: [EnginePolling.Effect] = []
        machine.handle(input, at: .start, into: &effects)
        for effect in effects {
            switch effect {
            case .poll:
                #expect(!isPolled)
                isPolled = true
            case .post(let body):
                #expect(posted == nil)
                posted = body
            case .deliver(let message):
                #expect(isWanted)
                isWanted = false
                delivered.append(message)
            case .sent(let count): confirmed += count
            case .openWebSocket: isOpening = true
            case .readWebSocket: isReading = true
            case .writeWebSocket(let message):
                up.append(message)
                confirmed += 1
            case .controlWebSocket(let message): up.append(message)
            case .dropWebSocket: (up, down, isReading) = ([], [], false)
            case .opened, .closeWebSocket, .ended: break
            }
        }
    }

    private mutating func want() {
        guard !isWanted else { return }
        isWanted = true
        feed(.wanted)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<9, using: &random) {
        case 0:
            let message =
                emitted.count.isMultiple(of: 5) ? Message.binary([UInt8(truncatingIfNeeded: emitted.count)]) : .text("4s\(emitted.count)")
            emitted.append(message)
            if hasUpgraded { down.append(message) } else { waiting.append(message) }
        case 1:
            let message = sent.count.isMultiple(of: 7) ? Message.binary([UInt8(truncatingIfNeeded: sent.count)]) : .text("4c\(sent.count)")
            sent.append(message)
            feed(.send(message))
        case 2, 3: want()
        case 4: answerPoll()
        case 5: try takePost()
        case 6 where isOpening:
            isOpening = false
            feed(.webSocketOpened)
        case 6 where mayBreak && !isBroken && !hasUpgraded && !up.isEmpty && !up.contains(.text("5")):
            isBroken = true
            (up, down, isReading, isProbed) = ([], [], false, false)
            feed(.webSocketEnded)
        case 7: takeWebSocket()
        case 8 where isReading && !down.isEmpty:
            isReading = false
            feed(.webSocketReceived(down.removeFirst()))
        default: break
        }
    }

    private mutating func answerPoll() {
        guard isPolled, !waiting.isEmpty || isProbed else { return }
        isPolled = false
        let packets = waiting.isEmpty ? [.text("6")] : waiting
        waiting = []
        feed(.polled(EnginePayload.bytes(of: packets, version)))
    }

    private mutating func takePost() throws {
        guard let body = posted.take() else { return }
        var payload = EnginePayload(body, version)
        while let packet = try payload.next() { arrived.append(packet) }
        feed(.posted)
    }

    private mutating func takeWebSocket() {
        guard !up.isEmpty else { return }
        switch up.removeFirst() {
        case .text("2probe"):
            isProbed = true
            down.append(.text("3probe"))
        case .text("5"):
            hasUpgraded = true
            down += waiting
            waiting = []
        case let message:
            #expect(hasUpgraded)
            arrived.append(message)
        }
    }

    /// Lets everything that is on the way arrive.
    mutating func finish() throws {
        for _ in 0..<5000 {
            want()
            answerPoll()
            try takePost()
            takeWebSocket()
            if isReading, !down.isEmpty {
                isReading = false
                feed(.webSocketReceived(down.removeFirst()))
            }
        }
    }
}
