import Holdfast

extension ConnectSession {
    /// Sends what the source gives and closes after its end; an outcome only when the source itself was at fault.
    ///
    /// A connection that fails while sending is not reported here: the receiving side meets the same failure and knows more.
    func speak(over link: Link) async -> Outcome? {
        switch source {
        case .prompt:
            await speakFromPrompt(over: link)
            return nil
        case .standardInput:
            let outcome = await speakFromStandardInput(over: link)
            await waitAndClose(link)
            return outcome
        case .texts(let texts):
            for text in texts { await send(text, over: link) }
            await waitAndClose(link)
            return nil
        }
    }

    private func speakFromPrompt(over link: Link) async {
        // Sending may wait for a slow peer; keys must not, or Control-C would not work.
        let (lines, outbox) = AsyncStream.makeStream(of: String.self)
        await withTaskGroup { group in
            group.addTask { for await line in lines { await deliver(line, over: link) } }
            await readKeys(outbox)
            await console.close()  // From here on Control-C is SIGINT again, for a peer that takes nothing.
            outbox.finish()
            await group.waitForAll()
            if !Task.isCancelled { await link.close() }
        }
    }

    private func readKeys(_ outbox: AsyncStream<String>.Continuation) async {
        while let bytes = await input.read() {
            for effect in await console.type(bytes) {
                switch effect {
                case .submit(let line):
                    await console.show(.text(line), .sent)
                    outbox.yield(line)
                case .suspend: await console.suspend()
                case .interrupt, .endOfInput: return
                case .write: break
                }
            }
        }
    }

    private func speakFromStandardInput(over link: Link) async -> Outcome? {
        var splitter = LineSplitter()
        while let bytes = await input.read() {
            for line in splitter.split(bytes) {
                guard await send(line, over: link) else { return .badInput }
            }
        }
        guard !Task.isCancelled, let last = splitter.finish() else { return nil }
        return await send(last, over: link) ? nil : .badInput
    }

    private func send(_ line: LineSplitter.Line, over link: Link) async -> Bool {
        switch line {
        case .text(let text): await send(text, over: link)
        case .invalid(let number): await console.note("line \(number) of standard input is not UTF-8; nothing more is sent", .bad)
        }
        if case .invalid = line { return false }
        return true
    }

    private func send(_ text: String, over link: Link) async {
        if console.format.isForTerminal { await console.show(.text(text), .sent) }
        await deliver(text, over: link)
    }

    private func deliver(_ text: String, over link: Link) async {
        do throws(WebSocketError) {
            try await link.send(.text(text))
        } catch {
            if error.code == .timedOut { await console.note("not sent: \(error)", .bad) }
        }
    }

    private func waitAndClose(_ link: Link) async {
        guard case .quiet(let quiet) = patience else { return }
        var end = ContinuousClock.now + quiet
        while end > .now {
            guard (try? await Task.sleep(until: end)) != nil else { return }
            if let last = await console.lastReceived { end = max(end, last + quiet) }
        }
        await link.close()
    }
}
