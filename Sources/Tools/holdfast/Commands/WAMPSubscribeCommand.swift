import ArgumentParser
import Foundation
import HoldfastWAMP

struct WAMPSubscribeCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Print the events of a topic as they come.",
        discussion: """
            A line of JSON for each event, and one with "gap" where some may be missing: WAMP keeps nothing for those who are not there. \
            The subscription survives the connection. Ends with SIGINT, or after --count or --for.

            EXAMPLE:
              holdfast wamp subscribe ws://localhost:9001/ realm1 com.example. --match prefix

            \(Outcome.table)
            """)

    @OptionGroup var realm: WAMPRealmOptions
    @OptionGroup(title: "Session") var login: WAMPLoginOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The topic's URI, or a pattern; see --match.", valueName: "topic"))
    var topic: String

    @Option(help: "How topics are compared with it.")
    var match = WAMPMatch.exact

    @Flag(help: "Begin with the event that the router keeps for the topic, if there is one.")
    var retained = false

    @Option(help: ArgumentHelp("After a loss fetch up to so many events from the router's history.", valueName: "count"))
    var history: Int?

    @Option(help: ArgumentHelp("End after so many events.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after so long.", valueName: "seconds"))
    var duration: Seconds?

    func validate() throws {
        try checkConnection()
        try URIArgument.check(topic, match: match)
        if let count, count < 1 { throw ValidationError("--count: at least 1.") }
        if let history, history < 1 { throw ValidationError("--history: at least 1.") }
    }

    func run() async throws {
        try await withClient(for: duration?.duration) { client in
            var left = count ?? .max
            let events = try await client.subscribe(
                topic, match: match, options: SubscribeOptions(wantsRetained: retained, historyAfterGap: history ?? 0))
            StandardOutput.warn("subscribed to \(topic)")
            for try await item in events.withGaps {
                switch item {
                case .undecodable(let error): StandardOutput.warn("\(error)".escapedOnOneLine)
                case .gap(let gap): StandardOutput.write(WAMPLine.gap(gap) + "\n")
                case .event(let event):
                    StandardOutput.write(
                        WAMPLine.event(
                            topic: event.topic, publication: event.publication, publisher: event.publisher, event.content) + "\n")
                    left -= 1
                    if left == 0 { return }
                }
            }
        }
    }
}
