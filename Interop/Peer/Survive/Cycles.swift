import Foundation
import Holdfast

/// Sessions that connect, send, receive and close, one after the other.
///
/// Memory and descriptors must stay constant.
struct Cycles {
    /// The limit for the growth of memory after the first cycles, in KiB: about 200 bytes per cycle at 10,000 cycles.
    static let bound = 2048
    /// The number of concurrent cycles.
    private static let lanes = 4
    private static let samples = 20

    let server: ServerProcess
    let count: Int
    let findings = Findings()

    /// Runs all cycles.
    ///
    /// Returns whether every check passed.
    func run() async -> Bool {
        do {
            try await server.start()
            try await measure()
        } catch {
            await findings.check("the cycles complete", ["\(error)"])
        }
        try? await server.kill()
        return await findings.failures == 0
    }

    private func measure() async throws {
        let process = await server.processName
        try await run(max(100, count / 10))  // For one-time setup and the allocator's reserve.
        let (before, serverBefore, waits) = (Footprint.of(), Footprint.of(process), Footprint.timeWaits)
        var resident: [Int] = []
        for _ in 0..<Self.samples {
            try await run(count / Self.samples)
            resident.append(Footprint.of().residentKiB)
        }
        try? await eventually("all is gone", within: .seconds(30)) {
            TokenOffice.livingCount == 0 && !Footprint.of().holdsMore(than: before)
        }
        let (after, serverAfter) = (Footprint.of(), Footprint.of(process))
        let (growth, serverGrowth) = ((resident.max() ?? 0) - before.residentKiB, serverAfter.residentKiB - serverBefore.residentKiB)
        await findings.check(
            "memory stays flat over \(count) cycles",
            max(growth, serverGrowth) > Self.bound ? ["grown by \(growth) KiB, the server by \(serverGrowth) KiB"] : [])
        await findings.check(
            "no descriptor is left after \(count) cycles",
            after.holdsMore(than: before) ? ["now \(after.opened(since: before))"] : [])
        await findings.check("no session is left after \(count) cycles", TokenOffice.livingCount > 0 ? ["\(TokenOffice.livingCount)"] : [])
        await findings.figure("cycles", count)
        await findings.figure("memory after warm-up, KiB", before.residentKiB)
        await findings.figure("memory grown by, KiB", growth)
        await findings.figure("memory of the server grown by, KiB", serverGrowth)
        await findings.figure("memory at each twentieth, KiB", resident.map { "\($0)" }.joined(separator: ","))
        await findings.figure("descriptors before and after", "\(before.descriptors)/\(after.descriptors)")
        await findings.figure("threads before and after", "\(before.threads)/\(after.threads)")
        await findings.figure("ports in TIME_WAIT before and after", "\(waits)/\(Footprint.timeWaits)")
    }

    private func run(_ count: Int) async throws {
        let url = await server.url
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.lanes {
                let share = count * (lane + 1) / Self.lanes - count * lane / Self.lanes
                group.addTask {
                    // One timeout for many cycles, because a cancelled sleep keeps its memory until its time.
                    try await Suite.withDeadline(.seconds(120)) {
                        for number in 0..<share { try await cycle(url, "\(lane)-\(number)") }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func cycle(_ url: String, _ name: String) async throws {
        let office = TokenOffice(client: "cycle-\(name)", life: .seconds(3600))
        let socket = WebSocket(url) { options in
            options.credentials = .bearer { office.next() }
            // Swift keeps a cancelled sleep until its time, about 1 KB each. The default of 30 s would outlast the run.
            options.credentialPolicy.timeout = .seconds(2)
        }
        var (hasOpened, echo): (Bool, Message?) = (false, nil)
        for await event in socket.events {
            if case .opened = event {
                hasOpened = true
                try await socket.send(.text(name))
            } else if case .message(let message) = event {
                echo = message
                await socket.close()
            }
        }
        guard hasOpened, echo == .text(name) else { throw Suite.Failure(description: "cycle \(name) went wrong") }
    }
}
