import Holdfast
import HoldfastTesting

/// Faults of the links while the server works.
extension SurviveRun {
    /// Cuts each link at random, often during the next handshake.
    func cutAtRandom(_ port: Int) async throws -> [Books] {
        let sessions = 8
        let results = try await withThrowingTaskGroup(of: (books: Books, times: [Duration]).self) { group in
            for number in 0..<sessions {
                let share = cuts * (number + 1) / sessions - cuts * number / sessions
                group.addTask { try await cutAtRandom(port, number, share) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let books = results.map(\.books)
        // Each cut ends one connection or attempt, and nothing else ends one.
        let deaths = books.flatMap(\.deaths)
        let falseDeaths = deaths.filter { $0.code != .lost }.map { "\($0.code)" }
        let excess = max(0, deaths.count - cuts)
        await findings.check("\(cuts) cuts, and no other end", falseDeaths + (excess > 0 ? ["\(excess) connections more were lost"] : []))
        await findings.figure("cuts", cuts)
        await findings.figure("reconnect after a cut, ms", times: results.flatMap(\.times))
        await findings.figure("false deaths while cut", falseDeaths.count + excess)
        await findings.figure("messages lost in one cut, at most", books.map(\.mostLostAtOnce).max() ?? 0)
        return books
    }

    private func cutAtRandom(_ port: Int, _ number: Int, _ share: Int) async throws -> (books: Books, times: [Duration]) {
        var random = SeededGenerator(seed: seed &+ UInt64(number))
        let link = try await FaultyLink.start(to: port)
        link.latency = .milliseconds(number % 3)
        let survivor = Survivor("cut-\(number)", "ws://127.0.0.1:\(link.port)/")
        try await survivor.start()
        var (times, left): ([Duration], Int) = ([], share)
        while left > 0 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &random)))
            let accepted = link.accepted
            var at = ContinuousClock.now
            link.cut()
            left -= 1
            if left > 0, Int.random(in: 0..<4, using: &random) == 0 {
                try await eventually("the next attempt") { link.accepted > accepted }
                try await Task.sleep(for: .microseconds(Int.random(in: 0...8000, using: &random)))
                at = .now
                link.cut()
                left -= 1
            }
            times.append(try await survivor.opening(after: at) - at)
        }
        let books = try await survivor.finish()
        try await link.stop()
        return (books, times)
    }

    /// The link drops all bytes silently.
    func stallLinks(_ port: Int) async throws -> [Books] {
        let link = try await FaultyLink.start(to: port)
        let survivor = Survivor("stalled", "ws://127.0.0.1:\(link.port)/")
        try await survivor.start()
        let at = ContinuousClock.now
        link.stall()
        let death = try await survivor.death(after: at)
        try await Task.sleep(for: .milliseconds(500))
        let back = ContinuousClock.now
        link.resume()
        let opening = try await survivor.opening(after: back)
        let books = try await survivor.finish()
        try await link.stop()
        await judge("a link that swallows everything", [death], since: at)
        await judgeDeaths("a link that swallows everything", [books], each: 1)
        await findings.figure("stalled link noticed after, ms", times: [death.at - at])
        await findings.figure("reconnect after a stall, ms", times: [opening - back])
        return [books]
    }

    /// A half-open link is detected within the interval and the timeout.
    ///
    /// The rest is for a busy machine.
    func judge(_ name: String, _ deaths: [Books.Loss], since at: ContinuousClock.Instant) async {
        let limit = Survivor.interval + Survivor.patience + .seconds(5)
        let late = deaths.filter { $0.at - at > limit }.map { "after \($0.at - at)" }
        let other = deaths.filter { $0.code != .unresponsive }.map { "as \($0.code)" }
        await findings.check("\(name) is detected in time", late + other)
    }

    /// Checks that only the test itself has ended connections.
    func judgeDeaths(_ name: String, _ books: [Books], each wanted: Int) async {
        let other = books.filter { $0.deaths.count != wanted }.map { "\($0.deaths.map { "\($0.code)" }), not \(wanted)" }
        await findings.check("\(name): no connection ends for another reason", other)
    }

    /// Cuts each connection after its token has expired.
    ///
    /// The next attempt shows the expired token and is refused. The one after it has a fresh token.
    func renewTokens(_ port: Int) async throws -> [Books] {
        let link = try await FaultyLink.start(to: port)
        let survivors = (1...3).map { Survivor("token-\($0)", "ws://127.0.0.1:\(link.port)/", tokenLife: .seconds(4)) }
        for survivor in survivors { try await survivor.start() }
        var times: [Duration] = []
        for _ in 1...rounds {
            for survivor in survivors { try await survivor.expiry() }
            let at = ContinuousClock.now
            link.cut()
            for survivor in survivors { times.append(try await survivor.opening(after: at) - at) }
        }
        var (problems, books): ([String], [Books]) = ([], [])
        for survivor in survivors {
            let staleCount = await survivor.staleCount
            books.append(try await survivor.finish())
            let refusals = await server.entries("refused").count { $0.last == survivor.name[...] }
            if staleCount < rounds || refusals != staleCount {
                problems.append("\(survivor.name) showed \(staleCount) expired tokens, \(refusals) were refused")
            }
        }
        try await link.stop()
        await findings.check("an expired token is refused once, then a new one is used", problems)
        await judgeDeaths("cuts after the expiry", books, each: rounds)
        await findings.figure("reconnect with a fresh token, ms", times: times)
        return books
    }

    /// No fault: the app is busy for longer than the timeout, or the server needs time for each message.
    func takeTime(_ port: Int) async throws -> [Books] {
        let nap = Survivor.interval + Survivor.patience + .seconds(2)
        let napping = Survivor("napping", "ws://127.0.0.1:\(port)/", pace: Survivor.Pace(padding: 6000, nap: nap))
        let slow = Survivor("slow", "ws://127.0.0.1:\(port)/slow", pace: Survivor.Pace(between: .milliseconds(800)))
        try await napping.start()
        try await slow.start()
        try await Task.sleep(for: nap + .seconds(1))
        let books = [try await napping.finish(), try await slow.finish()]
        let lost = books.flatMap { $0.deaths + $0.failures }.map { "\($0.code)" }
        await findings.check("a busy app and a slow server do not count as dead", lost)
        await findings.figure("false deaths while slow", lost.count)
        return books
    }
}
