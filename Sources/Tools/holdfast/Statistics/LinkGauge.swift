import Holdfast

/// Keeps what `connect --stats` tells while a link is in use.
actor LinkGauge {
    private let link: Link
    private let start = ContinuousClock.now
    private var pongs = DurationHistogram()

    init(_ link: Link) { self.link = link }

    func roundTrip(_ time: Duration) { pongs.record(time) }

    /// How it stands.
    var figures: LinkFigures {
        var figures =
            switch link {
            case .single(let connection): LinkFigures(traffic: connection.traffic)
            case .surviving(let socket, _): LinkFigures(socket.statistics)
            }
        figures.roundTrips = RoundTrips(pongs)
        return figures
    }

    /// Shows it once a second, until the task is cancelled.
    func follow(_ console: Console) async {
        var (last, lastAt) = (figures, Duration.zero)
        while (try? await Task.sleep(until: start + lastAt + .seconds(1), clock: .continuous)) != nil {
            let (present, now) = (figures, start.duration(to: .now))
            await console.show(status: present.liveText(since: last, over: now - lastAt, at: now))
            (last, lastAt) = (present, now)
        }
    }

    /// Says how it was.
    func sumUp(_ console: Console) async {
        await console.show(status: "")
        await console.tell(figures.summary(after: start.duration(to: .now)))
    }
}

extension LinkFigures {
    init(_ statistics: WebSocketStatistics) {
        (connections, losses) = (statistics.connections, statistics.losses.values.reduce(0, +))
        traffic = statistics.traffic
    }
}
