import Foundation
import HoldfastTesting

/// A bad network, until it is asked to end.
struct ChaosSession: Sendable {
    /// Why the link could not do what it should.
    struct Failure: Error, CustomStringConvertible { let description: String }

    let target: HostAndPort
    let script: FaultScript
    let seed: UInt64
    let duration: Duration?
    let isQuiet: Bool
    let style: Style

    func run(listeningOn port: Int) async throws {
        let link: FaultyLink
        do { link = try await FaultyLink.start(to: target.port, host: target.host, listeningOn: port, seed: seed) } catch {
            throw Failure(description: "cannot listen on 127.0.0.1:\(port): \(error)")
        }
        let ledger = ChaosLedger(style: style, isQuiet: isQuiet)
        StandardOutput.write("127.0.0.1:\(link.port) -> \(target), seed \(seed)\n")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await play(on: link, ledger) }
            group.addTask {
                _ = await Signals.firstEnding()
                return true
            }
            if let duration {
                group.addTask {
                    try? await Task.sleep(for: duration)
                    return true
                }
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next(), !isOver {}
        }
        try await link.stop()
        await ledger.finish(link)
    }

    /// Plays the script; false, as the relay goes on afterwards.
    private func play(on link: FaultyLink, _ ledger: ChaosLedger) async throws -> Bool {
        do {
            try await link.follow(script, seed: seed) { await ledger.note($0) }
        } catch is CancellationError {
            return false
        } catch {
            throw Failure(description: "the port \(link.port) could not be opened again: \(error)")
        }
        await ledger.say("the script is over; still relaying", .dim)
        return false
    }
}
