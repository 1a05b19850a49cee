import ArgumentParser
import Foundation
import HoldfastWAMP

struct WAMPRegisterCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Offer a procedure, and answer its calls.",
        discussion: """
            Answers with what a call brought (--echo), with the same each time (--reply), or with what a shell command prints (--exec): \
            JSON, or else a text. The command has the call on its standard input, as a line of JSON: {"procedure":…,"args":[…],"kwargs":{…}}. \
            With --progress each line that it prints is a part of the result, sent as it comes. A command whose status is not 0 answers \
            with the error wamp.error.runtime_error and the end of what it wrote to standard error. It is ended when the caller cancels. \
            Commands run for --concurrency calls at once, others wait for their turn; of more than 1024 the rest is answered \
            wamp.error.unavailable.

            Each call is printed as a line of JSON. The registration survives the connection. Ends with SIGINT, or after --count or --for.

            EXAMPLE:
              holdfast wamp register ws://localhost:9001/ realm1 com.example.words --exec 'jq .args[0] | wc -w'

            \(Outcome.table)
            """)

    @OptionGroup var realm: WAMPRealmOptions
    @OptionGroup(title: "Session") var login: WAMPLoginOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The procedure's URI, or a pattern; see --match.", valueName: "procedure"))
    var procedure: String

    @Flag(help: "Answer with the arguments of the call.")
    var echo = false

    @Option(help: ArgumentHelp("Answer with this, JSON or a text.", valueName: "json"))
    var reply: JSONArgument?

    @Option(help: ArgumentHelp("Answer with what this shell command prints.", valueName: "command"))
    var exec: String?

    @Flag(help: "With --exec: send each line as a part of the result, as it comes; the last is the result.")
    var progress = false

    @Option(help: ArgumentHelp("With --exec: run so many commands at once (default: \(Self.mostCommands)).", valueName: "count"))
    var concurrency: Int?

    @Option(help: "How the URIs of calls are compared with it.")
    var match = WAMPMatch.exact

    @Option(help: "Who is called where several offer it.")
    var sharing = RegisterOptions.Sharing.single

    @Flag(help: "Take it over from the session that offers it, where the router lets us (force_reregister, as Crossbar does).")
    var takeOver = false

    @Option(help: ArgumentHelp("End after so many calls.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after so long.", valueName: "seconds"))
    var duration: Seconds?

    /// How many commands run at once unless told otherwise: whoever may call starts them.
    static let mostCommands = 4

    func validate() throws {
        try checkConnection()
        try URIArgument.check(procedure, match: match)
        let ways = [echo ? "--echo" : nil, reply == nil ? nil : "--reply", exec == nil ? nil : "--exec"].compactMap(\.self)
        if ways.isEmpty { throw ValidationError("say how to answer: --echo, --reply or --exec.") }
        if ways.count > 1 { throw ValidationError("\(ways.joined(separator: " and ")) exclude each other.") }
        if progress, exec == nil { throw ValidationError("--progress goes with --exec.") }
        if concurrency != nil, exec == nil { throw ValidationError("--concurrency goes with --exec.") }
        if let concurrency, !(1...1024 ~= concurrency) { throw ValidationError("--concurrency: 1 to 1024.") }
        if let count, count < 1 { throw ValidationError("--count: at least 1.") }
    }

    func run() async throws {
        let answer: CallAnswer = exec.map { .command($0, inParts: progress) } ?? reply.map { .fixed($0.value) } ?? .echo
        try await withClient(for: duration?.duration) { client in try await register(answer, on: client) }
    }

    private func register(_ answer: CallAnswer, on client: WAMPClient) async throws {
        let (calls, ended) = AsyncStream.makeStream(of: Void.self)
        // What answers by itself takes no time.
        let gate = CommandGate(most: exec == nil ? .max : concurrency ?? Self.mostCommands)
        let options = RegisterOptions(match: match, sharing: sharing, takesOver: takeOver)
        let registration = try await client.register(procedure, options: options) { arguments, invocation in
            defer { ended.yield() }
            let line = WAMPLine.invocation(of: invocation.uri, caller: invocation.caller, arguments)
            StandardOutput.write(line + "\n")
            return try await gate.run {
                try await answer.result(for: arguments, line: line) { try await invocation.progress($0) }
            }
        }
        StandardOutput.warn("registered \(procedure)")
        let refusal = await withTaskGroup(of: WAMPError?.self) { group in
            group.addTask {
                var left = count ?? .max
                for await _ in calls {
                    left -= 1
                    if left == 0 { break }
                }
                return nil
            }
            group.addTask { await registration.ended() }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let refusal { throw refusal }
        await registration.finish()
    }
}
