import Foundation
import HoldfastSocketIO
import HoldfastTesting
import WebSocketRuntime

/// Events over links that are cut, to a server that is killed.
///
/// The server writes each event `add` that it carries out into a file, and tells all followers its number.
struct SocketIOCuts {
    /// The file of the server.
    let file: String
    /// Starts the server, followed by a port and the file.
    let command: [String]
    let cuts: Int
    let kills: Int
    let transport: SocketIOTransport
    let version: SocketIOVersion

    private static let add = Event<String>("add")

    /// What a listener got.
    private struct Followed {
        var faults: [String] = []
        var (events, gaps, last) = (0, 0, 0)
        /// Whether events may be missing before the next one.
        private var mayMiss = true

        mutating func note(_ event: SocketIOEvent<Int>) {
            if event.isGap { (gaps, mayMiss) = (gaps + 1, true) }
            guard let number = event.content else { return }
            if mayMiss ? number <= last : number != last + 1 { faults.append("\(number) after \(last)") }
            (last, events, mayMiss) = (number, events + 1, false)
        }
    }

    func run() async throws -> Bool {
        let server = KillableServer(command, file: file) { port in
            let url = "ws://127.0.0.1:\(port)/socket.io/?EIO=\(version.rawValue - 1)&transport=websocket"
            await (try WebSocketConnection.connect(to: url)).abort()
        }
        try await server.start()
        let link = try await FaultyLink.start(to: server.port)
        var options = SocketIOOptions()
        (options.transport, options.version) = (transport, version)
        let client = SocketIOClient(
            "http://127.0.0.1:\(link.port)", options: options,
            configure: { socket in
                socket.reconnect.backoff = Backoff(base: .milliseconds(5), cap: .milliseconds(100), minimum: .milliseconds(1))
                socket.reconnect.spacing = .milliseconds(1)
            })
        let followed = LockedValue(Followed())
        let following = Task {
            for try await event in client.on(Event<Int>("added")) { followed.withLockedValue { $0.note(event) } }
        }
        // A room ends with its session, so each session joins again.
        let joining = Task {
            for await state in client.states { if case .connected = state { _ = try? await client.request("join", within: .seconds(5)) } }
        }
        try await client.ready(within: .seconds(20))

        let (once, again) = (LockedValue<[String: String]>([:]), LockedValue<[String: String]>([:]))
        let isOver = LockedValue(false)
        async let sendingOnce: Void = send("once", retries: nil, client, once) { isOver.withLockedValue { $0 } }
        async let sendingAgain: Void = send("again", retries: 1000, client, again) { isOver.withLockedValue { $0 } }
        for cut in 1...cuts {
            try await Task.sleep(for: .milliseconds(.random(in: 10...80)))
            if cut.isMultiple(of: max(cuts / max(kills, 1), 1)) {
                try await server.kill()
                try await server.start()
            } else {
                link.cut(Bool.random() ? .fin : .rst)
            }
        }
        isOver.withLockedValue { $0 = true }
        _ = await (sendingOnce, sendingAgain)
        // The listener stands again: it gets an event that comes after it has joined.
        for number in 1...60 {
            _ = try? await client.emit(Self.add, "last-\(number)", ack: Int.self, within: .seconds(5))
            try await Task.sleep(for: .milliseconds(200))
            let total = try server.lines.count
            if followed.withLockedValue({ $0.last }) == total { break }
        }
        following.cancel()
        joining.cancel()
        if case .closed(let error) = client.state {
            print("not ok \(version), \(transport) cuts: the client ended: \(error.map { "\($0)" } ?? "")")
        }
        await client.close()
        try await server.kill()
        try await link.stop()
        return judge(
            try server.lines, once.withLockedValue { $0 }, again.withLockedValue { $0 }, followed.withLockedValue { $0 }, link.accepted)
    }

    private func judge(
        _ done: [String], _ once: [String: String], _ again: [String: String], _ followed: Followed, _ connections: Int
    ) -> Bool {
        var allPassed = true
        func check(_ name: String, _ holds: Bool, _ why: String = "") {
            print(holds ? "ok \(version), \(transport) cuts: \(name)" : "not ok \(version), \(transport) cuts: \(name): \(why)")
            if !holds { allPassed = false }
        }
        let counts = Dictionary(grouping: done) { $0 }.mapValues(\.count)
        let twice = counts.filter { $0.key.hasPrefix("once") && $0.value > 1 }.keys.sorted()
        check("no event without retries was carried out twice", twice.isEmpty, twice.joined(separator: " "))
        let answered = once.filter { $0.value == "answered" }.keys
        check("each acknowledged event was carried out", answered.allSatisfy { counts[$0] == 1 })
        check("an event that counts as not sent was not carried out", once.allSatisfy { $0.value != "not sent" || counts[$0.key] == nil })
        check(
            "each event ended as acknowledged, not sent or unknown",
            once.values.allSatisfy { ["answered", "not sent", "unknown"].contains($0) })
        check("many were acknowledged, and some are unknown", answered.count > 20 && once.values.contains("unknown") || cuts < 50)
        check(
            "each event with retries was acknowledged", again.values.allSatisfy { $0 == "answered" } && again.count > 20,
            Set(again.values).sorted().joined(separator: ", "))
        check("each of them was carried out", again.keys.allSatisfy { counts[$0] != nil })
        var seen: Set<String> = []
        let order = done.filter { $0.hasPrefix("again") && seen.insert($0).inserted }
        let numbers = order.compactMap { Int($0.split(separator: "-").last ?? "") }
        check("they were carried out in their order", numbers == numbers.sorted())
        check(
            "the listener got each event once, in order, and was told where some may be missing", followed.faults.isEmpty,
            followed.faults.joined(separator: ", "))
        check("the listener was told of gaps, and got the last event", followed.gaps > cuts / 4 && followed.last == done.count)
        check("the client connected after every loss", connections > cuts / 2, "\(connections) connections")
        print(
            "figure \(connections) connections, \(once.count) events once: \(answered.count) acknowledged; \(again.count) with retries; "
                + "\(followed.events) events received, \(followed.gaps) gaps")
        return allPassed
    }

    private func send(
        _ name: String, retries: Int?, _ client: SocketIOClient, _ outcomes: LockedValue<[String: String]>,
        until isOver: @escaping @Sendable () -> Bool
    ) async {
        var number = 0
        while !isOver() {
            number += 1
            let key = "\(name)-\(number)"
            let outcome: String
            do throws(SocketIOFailure) {
                if let retries {
                    _ = try await client.emit(Self.add, key, ack: Int.self, within: .seconds(2), retries: retries)
                } else {
                    _ = try await client.emit(Self.add, key, ack: Int.self, within: .seconds(10))
                }
                outcome = "answered"
            } catch {
                outcome = error.code == .outcomeUnknown || error.mayHaveArrived ? "unknown" : "not sent"
            }
            outcomes.withLockedValue { $0[key] = outcome }
            try? await Task.sleep(for: .milliseconds(1))
        }
    }
}
