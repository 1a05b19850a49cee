import Foundation
import HoldfastWAMP

/// Minimal clients, so that the router is measured.
///
/// Subscribers join, subscribe, and then only count events. A publisher keeps a window of events in flight, so that the router never waits.
struct WAMPFlood {
    static let serialization = WAMPSerialization.messagePack
    /// Publications in flight: more than a router delivers until the publisher learns of some deliveries.
    static let window = 512
    /// The number of publications after which the publisher checks the subscribers.
    static let burst = 64

    let bench: WAMPBench

    func run(subscribers count: Int) async throws {
        let meter = EventMeter()
        var configuration = WebSocketConfiguration()
        configuration.subprotocols = [Self.serialization.subprotocol]
        configuration.compression = nil
        let subscribers = try await withThrowingTaskGroup(of: InlineConnection.self) { [configuration] group in
            for _ in 0..<count {
                group.addTask {
                    try await InlineConnection.connect(to: bench.url, configuration: configuration) { FloodSubscriber(bench.realm, meter) }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // Each subscriber counts once for its subscription.
        await meter.reach(count)
        let publisher = try await WebSocketConnection.connect(to: bench.url, configuration: configuration)
        try await publisher.send(.hello(realm: bench.realm, details: ["roles": ["publisher": [:]]]))
        var answers = publisher.messages.makeAsyncIterator()
        guard case .welcome? = try await answers.next()?.wamp else { throw WAMPBenchError.notJoined }

        var sent = 0
        func publish() async throws {
            sent += 1
            let event = WAMPArguments([.text(WAMPBench.payload)])
            try await publisher.send(.publish(request: WAMPID(sent), options: [:], topic: WAMPBench.news.uri, event))
        }
        func reach(_ publications: Int) async { await meter.reach((publications + 1) * count) }

        let latency = try await bench.measure {
            try await publish()
            await reach(sent)
        }
        let before = sent
        bench.say("start")
        let clock = ContinuousClock()
        let start = clock.now
        while clock.now - start < bench.duration {
            for _ in 0..<Self.burst { try await publish() }
            await reach(sent - Self.window)
        }
        await reach(sent)
        bench.report((sent - before) * count, clock.now - start, latency)
        meter.stop()
        for subscriber in subscribers { subscriber.abort() }
        await publisher.close()
    }
}

/// Joins, subscribes, and counts, on its event loop.
private final class FloodSubscriber: InlineHandler {
    private let realm: String
    private let meter: EventMeter
    private var isSubscribed = false

    init(_ realm: String, _ meter: EventMeter) { (self.realm, self.meter) = (realm, meter) }

    func opened(_ socket: InlineSocket) {
        send(.hello(realm: realm, details: ["roles": ["subscriber": [:]]]), on: socket)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        // An event has the whole payload. A shorter message is unexpected and ends the run.
        if isSubscribed { return bytes.byteCount > WAMPBench.payload.utf8.count ? meter.count() : socket.close(code: .protocolError) }
        switch try? WAMPMessage(decoding: bytes, as: WAMPFlood.serialization) {
        case .welcome: send(.subscribe(request: 1, options: [:], topic: WAMPBench.news.uri), on: socket)
        case .subscribed:
            isSubscribed = true
            meter.count()
        default: socket.close(code: .protocolError)
        }
    }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        guard !meter.isStopped else { return }
        // Its events will never arrive.
        FileHandle.standardError.write(Data("a subscriber has lost its connection: \(result)\n".utf8))
        exit(1)
    }

    private func send(_ message: WAMPMessage, on socket: InlineSocket) {
        guard let bytes = try? message.encoded(as: WAMPFlood.serialization) else { return }
        socket.send(.binary(bytes))
    }
}

extension WebSocketConnection {
    fileprivate func send(_ message: WAMPMessage) async throws {
        try await send(.binary(message.encoded(as: WAMPFlood.serialization)))
    }
}

extension Message {
    fileprivate var wamp: WAMPMessage? {
        withBytes { try? WAMPMessage(decoding: $0.bytes, as: WAMPFlood.serialization) }
    }
}
