import Foundation
import HoldfastQuotes

/// Reads a feed of quotes and prints one line of JSON about it; see `Benchmarks/README.md`.
///
/// Its consumer runs on the main thread, like an app that draws, and blocks the thread for a given time per update.
@MainActor struct QuotesReader {
    let url: String
    let encoding: QuotesEncoding
    let seconds: Double
    let busyMilliseconds: Int

    private struct Report: Encodable {
        var seconds: Double
        var cpu: Double
        var ticks: UInt64
        var messages: UInt64
        var shown: Int
        var conflated: UInt64
        /// The number of displayed values for which a newer value was already known.
        var outdated: Int
        var p50, p99, most: Int64
        var memory: [Int]
    }

    /// Returns false if there is nothing to report.
    ///
    /// The reason goes to standard error.
    func run() async -> Bool {
        do {
            let report = try await read()
            print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
            return true
        } catch {
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            return false
        }
    }

    private func read() async throws -> Report {
        let feed = QuoteFeed(url, encodings: [encoding]) { $0.connection.compression = nil }
        try feed.subscribe("*")
        var updates = feed.updates().makeAsyncIterator()
        var board: [String: Int64] = [:]
        while !feed.isCurrent {
            guard let update = await updates.next() else { throw Ended(closure: feed.closure) }
            for quote in update.quotes { board[quote.symbol] = quote.version }
        }

        let begun = (time: ContinuousClock.now, cpu: Self.processorSeconds, counts: feed.counts)
        var ages: [Int64] = []
        var memory = [Self.residentKilobytes]
        var outdated = 0
        var passed = Duration.zero
        var isMeasured = ContinuousClock.now
        while passed < .seconds(seconds) {
            let known = busyMilliseconds > 0 ? feed.quotes : []
            guard let update = await updates.next() else { throw Ended(closure: feed.closure) }
            if busyMilliseconds > 0 {
                for quote in update.quotes { board[quote.symbol] = quote.version }
                outdated += known.count { $0.version > board[$0.symbol, default: 0] }
                usleep(UInt32(busyMilliseconds) * 1000)
            }
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            if busyMilliseconds > 0 {
                for quote in update.quotes { ages.append(now - quote.time) }
            } else if let last = update.quotes.last {
                ages.append(now - last.time)
            }
            let instant = ContinuousClock.now
            passed = instant - begun.time
            if instant - isMeasured > .milliseconds(500) {
                isMeasured = instant
                memory.append(Self.residentKilobytes)
            }
        }

        let cpu = Self.processorSeconds - begun.cpu
        memory.append(Self.residentKilobytes)
        ages.sort()
        func share(_ part: Double) -> Int64 { ages.isEmpty ? 0 : ages[Int(Double(ages.count - 1) * part)] }
        let counts = feed.counts
        await feed.close()
        return Report(
            seconds: passed / .seconds(1), cpu: cpu, ticks: counts.ticks - begun.counts.ticks,
            messages: counts.messages - begun.counts.messages, shown: ages.count, conflated: counts.conflated, outdated: outdated,
            p50: share(0.5), p99: share(0.99), most: share(1), memory: memory)
    }

    /// The feed ended too early.
    private struct Ended: Error, CustomStringConvertible {
        let closure: Closure?
        var description: String { closure.map { "\($0)" } ?? "the feed ended" }
    }

    /// The processor time of all threads.
    private static var processorSeconds: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }

    private static var residentKilobytes: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return status.firstMatch(of: /VmRSS:\s+(\d+)/).flatMap { Int($0.output.1) } ?? 0
    }
}
