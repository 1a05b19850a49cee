import Foundation
import HoldfastWAMP
import WebSocketRuntime
import WAMPCore

/// Calls and events without a pause while a script kills and restarts the router.
///
/// Prints `loaded` in each round when everything works again. After the last round it stops and checks that nothing is pending.
struct WAMPStorm: Sendable {
    static let rounds = 3
    static let callers = 8
    /// How many results and events must arrive after a loss.
    static let enough = 300

    private struct Tally: CustomStringConvertible {
        var results = 0
        var events = 0
        var gaps = 0
        var lost = 0
        var refused = 0
        var strange: [String] = []
        var isOver = false

        var description: String { "\(results) results, \(events) events, \(lost) lost, \(refused) refused, \(strange.prefix(5)) strange" }
    }

    let url: String
    let realm: String
    private let tally = LockedValue(Tally())

    init(url: String, realm: String) { (self.url, self.realm) = (url, realm) }

    private func client() -> WAMPClient {
        WAMPClient(url, realm: realm) { socket in
            socket.reconnect.backoff = Backoff(base: .milliseconds(100), cap: .milliseconds(500))
            socket.reconnect.spacing = .milliseconds(100)
        }
    }

    func run() async throws -> Bool {
        let (caller, callee) = (client(), client())
        try await caller.joined(within: .seconds(10))
        try await callee.register(Self.add) { input, _ in input.0 + input.1 }
        let events = try await caller.subscribe(Self.topic)
        var tasks = (0..<Self.callers).map { number in Task { await call(caller, number) } }
        tasks.append(Task { await publish(callee) })
        tasks.append(Task { await listen(events) })
        for round in 1...Self.rounds {
            do {
                try await works()
            } catch {
                print("not ok all works again after loss \(round - 1): \(error); \(tally.withLockedValue { $0 })")
                return false
            }
            print(round == 1 ? "ok all works" : "ok all works again after loss \(round - 1)")
            print("loaded")
            fflush(nil)
            if round < Self.rounds { await untilLost(caller) }
        }
        tally.withLockedValue { $0.isOver = true }
        events.end()
        let isCalm: Bool
        do {
            try await Suite.withDeadline(.seconds(10)) { [tasks] in for task in tasks { await task.value } }
            isCalm = true
        } catch {
            isCalm = false
        }
        let result = tally.withLockedValue { $0 }
        print("\(isCalm ? "ok" : "not ok") no request is left pending")
        print("\(result.gaps == Self.rounds - 1 ? "ok" : "not ok") each loss is reported to the stream once: \(result.gaps)")
        print("\(result.strange.isEmpty ? "ok" : "not ok") calls end with results or as lost: \(result)")
        await callee.close()
        let remains = await remains(at: caller)
        print(
            remains.map { "not ok nothing of the sessions is left at the router: \($0)" }
                ?? "ok nothing of the sessions is left at the router")
        await caller.close()
        return isCalm && result.gaps == Self.rounds - 1 && result.strange.isEmpty && remains == nil
    }

    /// What the router still has of other sessions after they had time to leave, or nil.
    private func remains(at client: WAMPClient) async -> String? {
        do {
            try await Suite.withDeadline(.seconds(20)) {
                while try await client.meta.sessions.count() > 1 { try await Task.sleep(for: .milliseconds(20)) }
                try Suite.expect(try await client.meta.subscriptions.list().exact, [])
                try Suite.expect(try await client.meta.registrations.list().exact, [])
            }
            return nil
        } catch { return "\(error)" }
    }

    private static let add = Procedure<(Int, Int), Int>("com.storm.add")
    private static let topic = Topic<Int>("com.storm.tick")

    private func call(_ client: WAMPClient, _ number: Int) async {
        while !tally.withLockedValue({ $0.isOver }) {
            do {
                let sum = try await client.call(Self.add, number, 1, options: CallOptions(timeout: .seconds(5)))
                tally.withLockedValue { $0.results += 1 }
                if sum != number + 1 { tally.withLockedValue { $0.strange.append("\(sum)") } }
            } catch {
                await note(error)
            }
        }
    }

    private func publish(_ client: WAMPClient) async {
        var number = 0
        while !tally.withLockedValue({ $0.isOver }) {
            number += 1
            do { try await client.publish(Self.topic, number, options: PublishOptions(isAcknowledged: true)) } catch { await note(error) }
        }
    }

    private func listen(_ events: Events<Int>) async {
        do {
            for try await item in events.withGaps {
                tally.withLockedValue { tally in
                    switch item {
                    case .event: tally.events += 1
                    case .gap: tally.gaps += 1
                    case .undecodable(let error): tally.strange.append("\(error)")
                    }
                }
            }
        } catch {
            tally.withLockedValue { $0.strange.append("the stream ended: \(error)") }
        }
    }

    private func note(_ error: WAMPError) async {
        tally.withLockedValue { tally in
            switch (error.code, error.uri) {
            case (.connectionLost, _), (.timedOut, _): tally.lost += 1
            // The callee has not returned yet, or was lost with the call.
            case (.refused, WAMPURI.Error.noSuchProcedure), (.refused, WAMPURI.Error.canceled): tally.refused += 1
            default: tally.strange.append("\(error)")
            }
        }
        // A pause, so that immediate refusals do not dominate.
        try? await Task.sleep(for: .milliseconds(20))
    }

    /// Waits until enough results and events have arrived.
    private func works() async throws {
        let start = tally.withLockedValue { $0 }
        try await Suite.withDeadline(.seconds(40)) {
            while true {
                let now = tally.withLockedValue { $0 }
                if now.results >= start.results + Self.enough, now.events >= start.events + Self.enough { return }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func untilLost(_ client: WAMPClient) async {
        for await state in client.states {
            if case .joined = state { continue }
            return
        }
    }
}
