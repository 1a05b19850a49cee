import ArgumentParser
import Foundation
import HoldfastWAMP

struct WAMPPublishCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish an event.",
        discussion: """
            With --ack the router has taken the event when this ends, and its publication is printed as a line of JSON; without, it \
            was sent, and what the router makes of it is not told.

            EXAMPLE:
              holdfast wamp publish ws://localhost:9001/ realm1 com.example.news '{"headline":"hi"}' --ack

            \(Outcome.table)
            """)

    @OptionGroup var realm: WAMPRealmOptions
    @OptionGroup(title: "Session") var login: WAMPLoginOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The topic's URI.", valueName: "topic"))
    var topic: String

    @OptionGroup(title: "Arguments") var payload: WAMPPayloadOptions

    @Flag(help: "Wait until the router has taken it.")
    var ack = false

    @Flag(help: "Have the router keep it for those who subscribe later and ask for it.")
    var retain = false

    @Flag(help: "Tell the subscribers who publishes, if the router lets us.")
    var discloseMe = false

    @OptionGroup(title: "Subscribers") var audience: WAMPAudienceOptions

    @Option(help: ArgumentHelp("How long the router may take (default: 30 s).", valueName: "seconds"))
    var timeout = Seconds(30)

    func validate() throws {
        try checkConnection()
        try URIArgument.check(topic)
    }

    func run() async throws {
        try await withClient { client in
            let options = PublishOptions(
                isAcknowledged: ack, excludesMe: !audience.toMe, excluded: audience.excluded, eligible: audience.allowed,
                discloseMe: discloseMe ? true : nil, isRetained: retain, patience: timeout.duration)
            let publication = try await client.publish(topic, payload.list, keywords: payload.keywords, options: options)
            if let publication { StandardOutput.write(WAMPLine.published(publication) + "\n") }
        }
    }
}
