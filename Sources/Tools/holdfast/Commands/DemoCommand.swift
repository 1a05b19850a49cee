import ArgumentParser
import Foundation

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch a conversation survive: cut links, and a hub that is killed in the middle.",
        discussion: """
            Starts a hub in a process of its own, a link to it that the demo itself cuts twice, and two clients that talk through the \
            link while the hub is killed with -9 and started again. Takes some ten seconds; the status is 0 only if every message \
            arrived once, and in one order for all.
            """)

    func run() async throws {
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: ProcessInfo.processInfo.environment)
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await Demo(stage: DemoStage(timeline: Timeline(style: style))).run() }
            // The hub must not outlive whoever started it.
            group.addTask { await Signals.firstEnding() }
            let outcome = await group.next() ?? nil
            group.cancelAll()
            return outcome ?? .failed
        }
        if outcome != .clean { throw outcome.code }
    }
}
