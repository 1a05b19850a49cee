import Holdfast
import HoldfastTerminal

/// The lines that the user types at the prompt, or that come from standard input or the command line.
struct LineInput: Sendable {
    /// Where the lines come from.
    enum Source: Sendable {
        case prompt
        case standardInput
        case texts([String])
    }

    let source: Source
    let console: Console
    private let input = StandardInput()

    init(source: Source, console: Console) { (self.source, self.console) = (source, console) }

    /// Shows each line and gives it to `send`, in order; returns an outcome only if the source itself failed.
    func forEach(_ send: @escaping @Sendable (String) async -> Void) async -> Outcome? {
        switch source {
        case .prompt:
            await fromPrompt(send)
            return nil
        case .standardInput: return await fromStandardInput(send)
        case .texts(let texts):
            for text in texts { await show(text, send) }
            return nil
        }
    }

    private func fromPrompt(_ send: @escaping @Sendable (String) async -> Void) async {
        // Sending may wait for a slow peer, but keys must not, or Control-C would not work.
        let (lines, outbox) = AsyncStream.makeStream(of: String.self)
        await withTaskGroup { group in
            group.addTask { for await line in lines { await send(line) } }
            await readKeys(outbox)
            await console.close()  // From now on, Control-C is SIGINT again, in case the peer reads nothing.
            outbox.finish()
            await group.waitForAll()
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

    private func fromStandardInput(_ send: @Sendable (String) async -> Void) async -> Outcome? {
        var splitter = LineSplitter()
        while let bytes = await input.read() {
            for line in splitter.split(bytes) { if let outcome = await take(line, send) { return outcome } }
        }
        guard !Task.isCancelled, let last = splitter.finish() else { return nil }
        return await take(last, send)
    }

    private func take(_ line: LineSplitter.Line, _ send: @Sendable (String) async -> Void) async -> Outcome? {
        switch line {
        case .text(let text):
            await show(text, send)
            return nil
        case .invalid(let number):
            await console.note("line \(number) of standard input is not UTF-8; nothing more is sent", .bad)
            return .badInput
        }
    }

    private func show(_ text: String, _ send: @Sendable (String) async -> Void) async {
        if console.format.isForTerminal { await console.show(.text(text), .sent) }
        await send(text)
    }
}
