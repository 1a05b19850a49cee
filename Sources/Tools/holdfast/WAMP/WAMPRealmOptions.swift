import ArgumentParser
import Holdfast
import HoldfastWAMP

/// What decides which realm is joined, and how.
struct WAMPRealmOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("ws://host:port/ or wss://… of a router", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("The realm to join.", valueName: "realm"))
    var realm: String

    @Option(help: "How messages are written (default: msgpack, cbor or json, the first that the router takes).")
    var serialization: WAMPSerialization?

    @Option(help: ArgumentHelp("How long to try to join the realm.", valueName: "seconds"))
    var patience = Seconds(10)

    @Flag(help: "Print each message in words to standard error: → is sent, ← has come. Secrets are left out.")
    var trace = false

    @Flag(help: "With --trace: print what messages carry, too.")
    var payloads = false

    func validate() throws {
        if payloads, !trace { throw ValidationError("--payloads goes with --trace.") }
        if realm.isEmpty { throw ValidationError("the realm has a name.") }
    }
}
