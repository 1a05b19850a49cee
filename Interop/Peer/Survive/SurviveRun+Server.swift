import Holdfast
import HoldfastTesting

/// Faults of the server, with sessions that are connected to it directly.
extension SurviveRun {
    /// The port is closed for a while, then open again.
    func restart(_ how: String, _ stop: () async throws -> Void) async throws -> [Books] {
        var random = SeededGenerator(seed: seed &+ 1000)
        let survivors = try await begin(4, named: how)
        var times: [Duration] = []
        for _ in 1...rounds {
            let at = ContinuousClock.now
            try await stop()
            try await Task.sleep(for: .milliseconds(Int.random(in: 300...1200, using: &random)))
            try await server.start()
            let back = ContinuousClock.now
            for survivor in survivors { times.append(max(.zero, try await survivor.opening(after: at) - back)) }
        }
        let books = try await finish(survivors)
        await judgeDeaths("a server that is \(how)", books, each: rounds)
        await findings.figure("reconnect to a server that was \(how), ms", times: times)
        return books
    }

    /// SIGSTOP: the machine accepts connections, but the server does not answer.
    func freeze() async throws -> [Books] {
        let survivors = try await begin(3, named: "frozen")
        var (times, detections): ([Duration], [Duration]) = ([], [])
        for _ in 1...rounds {
            let at = ContinuousClock.now
            await server.freeze()
            var deaths: [Books.Loss] = []
            for survivor in survivors { deaths.append(try await survivor.death(after: at)) }
            await judge("a frozen server", deaths, since: at)
            detections += deaths.map { $0.at - at }
            let back = ContinuousClock.now
            await server.thaw()
            for survivor in survivors { times.append(try await survivor.opening(after: back) - back) }
        }
        await findings.figure("frozen server noticed after, ms", times: detections)
        await findings.figure("reconnect to a server that was frozen, ms", times: times)
        let books = try await finish(survivors)
        await judgeDeaths("a frozen server", books, each: rounds)
        return books
    }

    private func begin(_ count: Int, named name: String) async throws -> [Survivor] {
        let url = await server.url
        let survivors = (1...count).map { Survivor("\(name)-\($0)", url) }
        for survivor in survivors { try await survivor.start() }
        return survivors
    }

    private func finish(_ survivors: [Survivor]) async throws -> [Books] {
        var books: [Books] = []
        for survivor in survivors { books.append(try await survivor.finish()) }
        return books
    }
}
