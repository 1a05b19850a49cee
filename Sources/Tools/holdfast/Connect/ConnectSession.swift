import Holdfast

/// One `connect` command at work: lines go out, messages come in, until one side ends it.
struct ConnectSession: Sendable {
    /// Where the lines to send come from.
    enum Source: Sendable {
        case prompt
        case standardInput
        case texts([String])
    }

    let url: WebSocketURL
    let configuration: WebSocketConfiguration
    let isReconnecting: Bool
    let source: Source
    let patience: Patience
    let pingEvery: Duration?
    /// Figures are told, live and at the end.
    let showsStatistics: Bool
    let console: Console
    let input = StandardInput()

    /// Connects, talks and closes; an ending signal closes with 1001, a second one kills.
    func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await converse() }
            group.addTask { await Signals.firstEnding() }
            var outcome = Outcome.failed
            if let first = await group.next(), let first { outcome = first }
            group.cancelAll()
            await group.waitForAll()
            await console.close()
            return outcome
        }
    }

    private func converse() async -> Outcome {
        do throws(WebSocketError) {
            let link = try await Link.open(url, configuration, isReconnecting: isReconnecting, console: console)
            if case .prompt = source { await console.open() }
            guard showsStatistics else { return await exchange(over: link, nil) }
            let gauge = LinkGauge(link)
            let outcome = await exchange(over: link, gauge)
            await gauge.sumUp(console)
            return outcome
        } catch {
            if error.code != .cancelled { await console.note(error) }
            return Outcome(error)
        }
    }

    private enum Finished: Sendable {
        case receiving(Outcome)
        case speaking(Outcome?)
        case other
    }

    private func exchange(over link: Link, _ gauge: LinkGauge?) async -> Outcome {
        await withTaskGroup(of: Finished.self) { group in
            group.addTask { .receiving(await link.receive(console, from: url)) }
            group.addTask { .speaking(await speak(over: link)) }
            if let pingEvery = pingEvery ?? gauge.map({ _ in .seconds(1) }) {
                group.addTask { await ping(over: link, every: pingEvery, gauge) }
            }
            if let gauge, console.showsStatus { group.addTask { await follow(gauge) } }
            if case .prompt = source { group.addTask { await followWindow() } }
            // Both end when the connection does, in any order.
            var (problem, ending): (Outcome?, Outcome?)
            for await finished in group {
                switch finished {
                case .receiving(let outcome):
                    group.cancelAll()
                    ending = outcome
                case .speaking(let outcome): problem = outcome
                case .other: break
                }
            }
            return problem ?? ending ?? .failed
        }
    }

    private func follow(_ gauge: LinkGauge) async -> Finished {
        await gauge.follow(console)
        return .other
    }

    private func ping(over link: Link, every interval: Duration, _ gauge: LinkGauge?) async -> Finished {
        while (try? await Task.sleep(for: interval)) != nil {
            do throws(WebSocketError) {
                guard let roundTrip = try await link.ping() else { continue }
                await gauge?.roundTrip(roundTrip)
                // Without --ping they are for the figures only.
                if pingEvery != nil { await console.note("pong after \(roundTrip.phrase)", .dim) }
            } catch {
                if error.code == .timedOut { await console.note("no pong in time", .bad) }
            }
        }
        return .other
    }

    private func followWindow() async -> Finished {
        for await _ in Signals.stream(of: [Signals.windowChange]) { await console.windowChanged() }
        return .other
    }
}
