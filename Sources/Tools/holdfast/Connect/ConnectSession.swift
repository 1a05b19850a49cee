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
            return await exchange(over: link)
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

    private func exchange(over link: Link) async -> Outcome {
        await withTaskGroup(of: Finished.self) { group in
            group.addTask { .receiving(await link.receive(console, from: url)) }
            group.addTask { .speaking(await speak(over: link)) }
            if let pingEvery { group.addTask { await ping(over: link, every: pingEvery) } }
            if case .prompt = source { group.addTask { await followWindow() } }
            var problem: Outcome?
            while let finished = await group.next() {
                switch finished {
                case .receiving(let outcome):
                    group.cancelAll()
                    return problem ?? outcome
                case .speaking(let outcome): problem = outcome
                case .other: break
                }
            }
            return .failed
        }
    }

    private func ping(over link: Link, every interval: Duration) async -> Finished {
        while (try? await Task.sleep(for: interval)) != nil {
            do throws(WebSocketError) {
                if let roundTrip = try await link.ping() { await console.note("pong after \(roundTrip.phrase)", .dim) }
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
