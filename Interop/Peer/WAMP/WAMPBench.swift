import Foundation
import HoldfastWAMP
import WebSocketRuntime

/// Our client in `Benchmarks/wamp`.
///
/// It does one kind of work and prints the results as JSON.
///
/// `start` and `end` enclose the part whose processor time is measured from outside.
struct WAMPBench {
    static let add = Procedure<(Int, Int), Int>("com.bench.add")
    static let news = Topic<String>("com.bench.news")
    /// The Python client uses the same payload.
    static let payload = String(repeating: "x", count: 100)
    static let latencies = 1000

    let url: String
    let realm: String
    let duration: Duration

    private func client() -> WAMPClient { WAMPClient(url, realm: realm) }

    // MARK: - Calls

    /// Calls a procedure of another session, with this number of calls in flight.
    func calls(inFlight: Int) async throws {
        let (caller, callee) = (client(), client())
        try await callee.register(Self.add) { input, _ in input.0 + input.1 }
        try await work(caller, 1000)
        let latency = try await measure { try await work(caller, 1) }
        say("start")
        let clock = ContinuousClock()
        let start = clock.now
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<inFlight {
                group.addTask {
                    var count = 0
                    while clock.now - start < duration {
                        try await work(caller, 1)
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        report(count, clock.now - start, latency)
        await caller.close()
        await callee.close()
    }

    private func work(_ caller: WAMPClient, _ times: Int) async throws {
        for _ in 0..<times where try await caller.call(Self.add, 23, 7) != 30 { throw WAMPBenchError.wrongResult }
    }

    // MARK: - Events

    /// Publishes to these subscribers, with a limited number of events in flight.
    func events(subscribers count: Int) async throws {
        let (publisher, meter) = (client(), EventMeter())
        let subscribers = (0..<count).map { _ in client() }
        var listening: [Task<Void, any Error>] = []
        for subscriber in subscribers {
            let events = try await subscriber.subscribe(Self.news, buffer: .dropOldest(capacity: 100_000))
            listening.append(Task { for try await event in events where event.content == Self.payload { meter.count() } })
        }
        // Enough that subscribers do not wait for the publisher.
        let burst = max(64, 512 / count)
        var sent = 0
        let latency = try await measure {
            sent += 1
            try await publisher.publish(Self.news, Self.payload)
            await meter.reach(sent * count)
        }
        let before = sent
        say("start")
        let clock = ContinuousClock()
        let start = clock.now
        while clock.now - start < duration {
            for _ in 0..<burst { try await publisher.publish(Self.news, Self.payload) }
            sent += burst
            await meter.reach((sent - burst) * count)
        }
        await meter.reach(sent * count)
        report((sent - before) * count, clock.now - start, latency)
        for task in listening { task.cancel() }
        for subscriber in subscribers { await subscriber.close() }
        await publisher.close()
    }

    // MARK: - Output

    /// The times of sequential runs in milliseconds, sorted.
    func measure(_ body: () async throws -> Void) async throws -> [Double] {
        let clock = ContinuousClock()
        var times: [Double] = []
        for _ in 0..<Self.latencies { times.append(try await clock.measure { try await body() } / .milliseconds(1)) }
        return times.sorted()
    }

    func report(_ count: Int, _ time: Duration, _ latency: [Double]) {
        let seconds = time / .seconds(1)
        let (p50, p99) = (latency[latency.count / 2], latency[latency.count * 99 / 100])
        say("end")
        say(#"{"count": \#(count), "seconds": \#(seconds), "p50_ms": \#(p50), "p99_ms": \#(p99)}"#)
    }

    func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}

enum WAMPBenchError: Error {
    case wrongResult
    case notJoined
}

/// Counts the events of all subscribers.
///
/// One task may wait for a number.
final class EventMeter: Sendable {
    private struct State {
        var count = 0
        var isStopped = false
        var waiting: (target: Int, continuation: CheckedContinuation<Void, Never>)?
    }
    private let state = LockedValue(State())

    func count() {
        let reached = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
            state.count += 1
            guard let waiting = state.waiting, state.count >= waiting.target else { return nil }
            state.waiting = nil
            return waiting.continuation
        }
        reached?.resume()
    }

    /// Ends all waiting.
    func stop() { state.withLockedValue { $0.isStopped = true } }
    var isStopped: Bool { state.withLockedValue { $0.isStopped } }

    func reach(_ target: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLockedValue { state in
                if state.count < target { state.waiting = (target, continuation) }
                return state.count >= target
            }
            if isReached { continuation.resume() }
        }
    }
}
