import ArgumentParser
import Foundation

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch a connection survive: real messages over a link that is cut twice.",
        discussion: """
            Starts an echo server, a link to it that the demo itself cuts, and a client that connects through the link and \
            comes back by itself. Ends in less than 20 seconds; the status is 0 only if every message came back and the client \
            returned after every cut.
            """)

    func run() async throws {
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: ProcessInfo.processInfo.environment)
        let outcome = await Demo(stage: DemoStage(timeline: Timeline(style: style))).run()
        if outcome != .clean { throw outcome.code }
    }
}
