import Holdfast

/// One `bench` command at work: connects, measures, tells, closes.
struct BenchSession: Sendable {
    /// What came out, with the connections still open.
    struct Measurement: Sendable {
        let connections: [WebSocketConnection]
        let tally: Tally
        let ends: [Lane.End]
        /// How long was measured, without the warm-up.
        let measured: Duration
    }

    private enum Event: Sendable {
        case measured(Result<Measurement, WebSocketError>)
        case signal(Outcome?)
    }

    let url: WebSocketURL
    let configuration: WebSocketConfiguration
    let plan: BenchPlan
    let isJSON: Bool
    /// Draws the line that shows what goes on; nil: nobody looks.
    let live: LiveLine?
    let style: Style
    let errorStyle: Style

    /// Measures and tells.
    ///
    /// An ending signal cuts the measurement short, and what was measured by then is told; a second one kills.
    func run() async -> Outcome {
        let (result, signal) = await withTaskGroup(of: Event.self) { group in
            group.addTask { .measured(await measure()) }
            group.addTask { .signal(await Signals.firstEnding()) }
            var result: Result<Measurement, WebSocketError>?
            var signal: Outcome?
            while let event = await group.next() {
                switch event {
                case .measured(let measured): result = measured
                case .signal(let outcome): signal = signal ?? outcome
                }
                group.cancelAll()
            }
            return (result, signal)
        }
        switch result {
        case .success(let measurement)?: return await finish(measurement, signal)
        case .failure(let error)?:
            if let signal { return signal }
            complain(error.lines)
            return Outcome(error)
        case nil: return .failed
        }
    }

    private func measure() async -> Result<Measurement, WebSocketError> {
        do throws(WebSocketError) {
            let connections = try await Lanes.open(plan.connections, to: url, configuration)
            let board = Scoreboard()
            let start = ContinuousClock.now
            let ends = await withTaskGroup(of: [Lane.End]?.self) { group in
                group.addTask { await work(connections, board, start) }
                if let live {
                    group.addTask {
                        await live.follow(board, plan, start)
                        return nil
                    }
                }
                var ends: [Lane.End] = []
                while let result = await group.next() {
                    guard let result else { continue }
                    ends = result
                    group.cancelAll()
                }
                return ends
            }
            let measured = max(.zero, min(start.duration(to: .now), plan.end) - plan.warmUp)
            return .success(Measurement(connections: connections, tally: await board.total(), ends: ends, measured: measured))
        } catch {
            return .failure(error)
        }
    }

    private func work(
        _ connections: [WebSocketConnection], _ board: Scoreboard, _ start: ContinuousClock.Instant
    ) async -> [Lane.End] {
        await withTaskGroup(of: Lane.End.self) { group in
            for (place, connection) in connections.enumerated() {
                let lane = Lane(connection, place: place, plan: plan, board: board, start: start)
                group.addTask { await lane.run() }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func finish(_ measurement: Measurement, _ signal: Outcome?) async -> Outcome {
        let losses = measurement.ends.compactMap(\.loss)
        let report = BenchReport(
            url: url.string, plan: plan, tally: measurement.tally, connectionsEnded: losses.count, measured: measurement.measured,
            isCompressed: measurement.connections.contains { $0.compression != nil }, wasStopped: signal != nil)
        StandardOutput.write(isJSON ? report.json + "\n" : report.lines(style: style).joined(separator: "\n") + "\n")
        if let first = losses.first { complain(["\(losses.count.counted("connection")) ended early, the first so:"] + first.lines) }
        await Lanes.close(measurement.connections)
        if report.errors.wrong + report.errors.disordered > 0 { return .failed }
        return losses.first?.outcome ?? (report.errors.lost > 0 ? .failed : signal ?? .clean)
    }

    private func complain(_ lines: [String]) {
        for line in lines { StandardOutput.warn(errorStyle.paint("* " + line, .bad)) }
    }
}

extension Lane.End {
    /// What it means to the tool if the connection did not stay until the end.
    var loss: (outcome: Outcome, lines: [String])? {
        switch self {
        case .finished, .stopped: nil
        case .closed(let record):
            // Even a polite close came too early here.
            (Outcome(closing: record) == .clean ? .failed : Outcome(closing: record), [record.phrase])
        case .failed(let error): (Outcome(error), error.lines)
        }
    }
}
