import ArgumentParser
import Foundation
import HoldfastWAMP

struct WAMPCallCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call a procedure, and print its result.",
        discussion: """
            The result is a line of JSON: the value if it is one, null if there is none, else {"args":[…],"kwargs":{…}}; with --full \
            always the latter. With --progress each part of the result is a line, too, as it comes. An error goes to standard error \
            and ends with status 9. SIGINT (Control-C) cancels the call.

            EXAMPLE:
              holdfast wamp call ws://localhost:9001/ realm1 com.example.add 23 7

            \(Outcome.table)
            """)

    @OptionGroup var realm: WAMPRealmOptions
    @OptionGroup(title: "Session") var login: WAMPLoginOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The procedure's URI.", valueName: "procedure"))
    var procedure: String

    @OptionGroup(title: "Arguments") var payload: WAMPPayloadOptions

    @Option(help: ArgumentHelp("How long the result may take, with --progress each part of it (default: 30 s).", valueName: "seconds"))
    var timeout = Seconds(30)

    @Flag(help: "Print the parts of a result as they come.")
    var progress = false

    @Option(help: "How the call is cancelled.")
    var cancel = CallOptions.CancelMode.killNoWait

    @Flag(help: "Tell the callee who calls, if the router lets us.")
    var discloseMe = false

    @Flag(help: "Print all arguments of a result, also if it is a single value.")
    var full = false

    func validate() throws {
        try checkConnection()
        try URIArgument.check(procedure)
    }

    func run() async throws {
        try await withClient { client in
            let options = CallOptions(
                timeout: timeout.duration, wantsProgress: progress, discloseMe: discloseMe ? true : nil, cancelMode: cancel)
            guard progress else {
                return print(try await client.call(procedure, payload.list, keywords: payload.keywords, options: options), isPart: false)
            }
            let parts = try client.callProgressively(procedure, payload.list, keywords: payload.keywords, options: options)
            for try await part in parts { print(part.value, isPart: !part.isFinal) }
        }
    }

    private func print(_ arguments: WAMPArguments, isPart: Bool) {
        StandardOutput.write(WAMPLine.result(arguments, isPart: isPart, isFull: full) + "\n")
    }
}
