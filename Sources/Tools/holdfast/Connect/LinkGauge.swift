import Holdfast
import HoldfastTerminal

/// Collects the statistics for `connect --stats` while a link is in use.
actor LinkGauge {
    private let link: Link
    private let start = ContinuousClock.now
    private var pongs = DurationHistogram()

    init(_ link: Link) { self.link = link }

    func roundTrip(_ time: Duration) { pongs.record(time) }

    /// The current statistics.
    var figures: LinkFigures {
        var figures =
            switch link {
            case .single(let connection): LinkFigures(traffic: connection.traffic)
            case .surviving(let socket, _): LinkFigures(socket.statistics)
            }
        figures.roundTrips = RoundTrips(pongs)
        return figures
    }

    /// Shows the statistics once per second, until the task is cancelled.
    func follow(_ console: Console) async {
        var (last, lastAt) = (figures, Duration.zero)
        while (try? await Task.sleep(until: start + lastAt + .seconds(1), clock: .continuous)) != nil {
            let (present, now) = (figures, start.duration(to: .now))
            await console.show(status: present.liveText(since: last, over: now - lastAt, at: now))
            (last, lastAt) = (present, now)
        }
    }

    /// Prints the summary.
    func sumUp(_ console: Console) async {
        await console.show(status: "")
        await console.notify(figures.summary(after: start.duration(to: .now)))
    }
}

extension LinkFigures {
    init(_ statistics: WebSocketStatistics) {
        (connections, losses) = (statistics.connections, statistics.losses.values.reduce(0, +))
        traffic = statistics.traffic
    }
}

/// The statistics of `connect --stats`, for one connection or for all connections of a link.
struct LinkFigures: Sendable {
    var connections = 1
    var losses = 0
    var traffic = LinkTraffic()
    var roundTrips = RoundTrips(DurationHistogram())

    /// Returns one line of live statistics.
    func liveText(since: LinkFigures, over span: Duration, at now: Duration) -> String {
        let news = traffic - since.traffic
        let seconds = max(span / .seconds(1), 0.001)
        func rate(_ count: Int) -> String { Int((Double(count) / seconds).rounded()).grouped }
        func side(_ arrow: String, _ messages: Int, _ bytes: Int) -> String {
            "\(arrow) \(rate(messages)) messages/s \(Int(Double(bytes) / seconds).bytesPhrase)/s"
        }
        var parts = ["\(Int((now / .seconds(1)).rounded())) s"]
        if connections != 1 || losses > 0 { parts.append("\(connections.counted("connection"))") }
        parts += [side("out", news.messagesOut, news.bytesOut), side("in", news.messagesIn, news.bytesIn)]
        if let p50 = roundTrips.p50, let p99 = roundTrips.p99 { parts.append("rtt p50 \(p50.phrase) p99 \(p99.phrase)") }
        return parts.joined(separator: "  ")
    }

    /// Returns the lines of the summary at the end.
    func summary(after time: Duration) -> [String] {
        func side(_ name: String, _ messages: Int, _ payload: Int, _ bytes: Int) -> String {
            "\(name)  \(messages.grouped) \(messages == 1 ? "message" : "messages"), \(payload.bytesPhrase), "
                + "\(bytes.bytesPhrase) on the wire"
        }
        var lines = [
            "time        \(time.phrase), \(connections.counted("connection")), \(losses) lost",
            side("sent      ", traffic.messagesOut, traffic.payloadOut, traffic.bytesOut),
            side("received  ", traffic.messagesIn, traffic.payloadIn, traffic.bytesIn),
        ]
        if let ratio = traffic.compressionRatio {
            let (whole, hundredths) = Int((ratio * 100).rounded()).quotientAndRemainder(dividingBy: 100)
            lines.append("one byte on the wire carried \(whole).\(hundredths < 10 ? "0" : "")\(hundredths) bytes of messages")
        }
        if let p50 = roundTrips.p50, let p95 = roundTrips.p95, let p99 = roundTrips.p99, let max = roundTrips.max {
            lines.append(
                "round trip  \(roundTrips.count.counted("ping")): p50 \(p50.phrase), p95 \(p95.phrase), p99 \(p99.phrase), "
                    + "longest \(max.phrase)")
        }
        return lines
    }
}
