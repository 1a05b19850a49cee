import Foundation
import Holdfast
import HoldfastTesting

/// Sessions against one server, over faulty links, and with the server killed, stopped and frozen.
struct SurviveRun {
    let server: ServerProcess
    /// The number of random cuts over all sessions.
    let cuts: Int
    /// How often the server is killed, ended and frozen.
    let rounds: Int
    let seed: UInt64
    let findings = Findings()

    /// Runs everything.
    ///
    /// Returns whether every check passed.
    func run() async -> Bool {
        print("seed \(seed)")
        do {
            try await server.start()
            let port = server.port
            try await warmUp(port)
            let before = Footprint.of()
            var books = try await cutAtRandom(port)
            async let stalled = stallLinks(port)
            async let renewed = renewTokens(port)
            async let slow = takeTime(port)
            books += try await stalled + renewed + slow
            books += try await restart("killed") { try await server.kill() }
            books += try await restart("ended") { try await server.end() }
            books += try await freeze()
            await judge(books)
            try await judgeLeaks(since: before)
        } catch {
            await findings.check("the run completes", ["\(error)"])
        }
        await server.thaw()
        try? await server.kill()
        return await findings.failures == 0
    }

    /// Makes a first connection, whose resources stay: event loops, threads, tables of the runtime.
    private func warmUp(_ port: Int) async throws {
        let link = try await FaultyLink.start(to: port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                group.addTask {
                    let survivor = Survivor("warm-up-\(number)", "ws://127.0.0.1:\(link.port)/")
                    try await survivor.start()
                    _ = try await survivor.finish()
                }
            }
            try await group.waitForAll()
        }
        try await link.stop()
        try await eventually("the sessions of the warm-up are gone") { TokenOffice.livingCount == 0 }
        // The sockets of the link close later.
        var (sockets, isSettled) = (Footprint.of().sockets, false)
        while !isSettled {
            try await Task.sleep(for: .milliseconds(300))
            let now = Footprint.of().sockets
            (sockets, isSettled) = (now, now >= sockets)
        }
    }

    private func judge(_ books: [Books]) async {
        await findings.check("messages come back once and in order, and are lost only with a connection", books.flatMap(\.faults))
        let (sent, received) = (books.map(\.sent).reduce(0, +), books.map(\.received).reduce(0, +))
        let (lost, refused) = (books.map(\.lost).reduce(0, +), books.map(\.refused).reduce(0, +))
        await findings.check(
            "each message sent is accounted for",
            sent == received + lost && refused <= lost ? [] : ["\(sent) sent, \(received) back, \(lost) lost, \(refused) refused"])
        await findings.figure("messages sent", sent)
        await findings.figure("messages back", received)
        await findings.figure("lost with a connection", lost)
        await findings.figure("most lost at once, frozen or stalled", books.map(\.mostLostAtOnce).max() ?? 0)
        await findings.figure("openings", books.map(\.openings.count).reduce(0, +))
        let doubles = await server.entries("double")
        await findings.check("no client had two connections", doubles.map { $0.joined(separator: " ") })
        await findings.figure("double connections", doubles.count)
        let expired = await server.entries("opened").filter { Int($0.last ?? "") ?? 0 <= 0 }
        await findings.check("no expired token was accepted", expired.map { $0.joined(separator: " ") })
    }

    private func judgeLeaks(since before: Footprint) async throws {
        try? await eventually("no session is left", within: .seconds(30)) { TokenOffice.livingCount == 0 }
        await findings.check("no session is left", TokenOffice.livingCount == 0 ? [] : ["\(TokenOffice.livingCount) live on"])
        await findings.figure("sessions left", TokenOffice.livingCount)
        try? await eventually("no descriptor is left", within: .seconds(30)) { !Footprint.of().holdsMore(than: before) }
        let after = Footprint.of()
        await findings.check("no descriptor is left", after.holdsMore(than: before) ? ["now \(after.opened(since: before))"] : [])
        await findings.figure("sockets before and after", "\(before.sockets)/\(after.sockets)")
        await findings.figure("descriptors before and after", "\(before.descriptors)/\(after.descriptors)")
        await findings.figure("threads before and after", "\(before.threads)/\(after.threads)")
    }
}
