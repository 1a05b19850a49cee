import ArgumentParser
import Foundation
import HoldfastTerminal
import HoldfastWAMP

struct WAMPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wamp",
        abstract: "Call and register procedures, publish events and subscribe to them, over WAMP.",
        discussion: """
            WAMP joins a realm of a router, such as 'holdfast serve wamp' or Crossbar. An argument is JSON, or else a text.

            EXAMPLE:
              holdfast serve wamp
              holdfast wamp register ws://localhost:9001/ realm1 com.example.echo --echo
              holdfast wamp call ws://localhost:9001/ realm1 com.example.echo 'hello'
            """,
        subcommands: [WAMPCallCommand.self, WAMPPublishCommand.self, WAMPSubscribeCommand.self, WAMPRegisterCommand.self])
}

struct WAMPCallCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call a procedure, and print its result.",
        discussion: """
            The result is a line of JSON: a single value as it is, null if there is none, else {"args":[…],"kwargs":{…}}; with --full \
            always the latter. With --progress each part of the result is also printed as a line when it arrives. An error goes to \
            standard error, and the status is then 9. SIGINT (Control-C) cancels the call.

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

    @Option(help: ArgumentHelp("The time limit for the result, or with --progress for each part (default: 30 s).", valueName: "seconds"))
    var timeout = Seconds(30)

    @Flag(help: "Print the parts of a result as they arrive.")
    var progress = false

    @Option(help: "How the call is cancelled.")
    var cancel = CallOptions.CancelMode.killNoWait

    @Flag(help: "Disclose the caller to the callee, if the router allows it.")
    var discloseMe = false

    @Flag(help: "Print all arguments of a result, even if it is a single value.")
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

struct WAMPRegisterCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Register a procedure, and answer its calls.",
        discussion: """
            Answers with the arguments of the call (--echo), with a fixed value (--reply), or with the output of a shell command (--exec): \
            JSON, or else a text. The command gets the call on its standard input, as a line of JSON: \
            {"procedure":…,"args":[…],"kwargs":{…}}. With --progress each line of its output is a part of the result, which is sent at \
            once. If the status of the command is not 0, the answer is the error wamp.error.runtime_error with the end of its standard \
            error. The command is ended when the caller cancels. Commands run for --concurrency calls at once, other calls wait; with more \
            than 1024 calls, further ones are answered with wamp.error.unavailable.

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

    @Option(help: ArgumentHelp("Answer with this value, JSON or a text.", valueName: "json"))
    var reply: JSONArgument?

    @Option(help: ArgumentHelp("Answer with the output of this shell command.", valueName: "command"))
    var exec: String?

    @Flag(help: "With --exec: send each line of output as a part of the result at once; the last line is the result.")
    var progress = false

    @Option(help: ArgumentHelp("With --exec: run up to this many commands at once (default: \(Self.mostCommands)).", valueName: "count"))
    var concurrency: Int?

    @Option(help: "How the URIs of calls are matched.")
    var match = WAMPMatch.exact

    @Option(help: "Who is called if several sessions register the procedure.")
    var sharing = RegisterOptions.Sharing.single

    @Flag(help: "Take the procedure over from its current session, if the router allows it (force_reregister, as in Crossbar).")
    var takeOver = false

    @Option(help: ArgumentHelp("End after this many calls.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time.", valueName: "seconds"))
    var duration: Seconds?

    /// The default number of simultaneous commands; it is limited because any caller can start them.
    static let mostCommands = 4

    func validate() throws {
        try checkConnection()
        try URIArgument.check(procedure, match: match)
        let ways = [echo ? "--echo" : nil, reply == nil ? nil : "--reply", exec == nil ? nil : "--exec"].compactMap(\.self)
        if ways.isEmpty { throw ValidationError("say how to answer: --echo, --reply or --exec.") }
        if ways.count > 1 { throw ValidationError("\(ways.joined(separator: " and ")) exclude each other.") }
        if progress, exec == nil { throw ValidationError("--progress needs --exec.") }
        if concurrency != nil, exec == nil { throw ValidationError("--concurrency needs --exec.") }
        if let concurrency, !(1...1024 ~= concurrency) { throw ValidationError("--concurrency: 1 to 1024.") }
        if let count, count < 1 { throw ValidationError("--count: at least 1.") }
    }

    func run() async throws {
        let answer: CallAnswer = exec.map { .command($0, inParts: progress) } ?? reply.map { .fixed($0.value) } ?? .echo
        try await withClient(for: duration?.duration) { client in try await register(answer, on: client) }
    }

    private func register(_ answer: CallAnswer, on client: WAMPClient) async throws {
        let (calls, ended) = AsyncStream.makeStream(of: Void.self)
        // Answers that need no command are not limited.
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

struct WAMPPublishCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish an event.",
        discussion: """
            With --ack, the command waits until the router has accepted the event, and prints its publication as a line of JSON. Without \
            --ack, it only sends the event, and the outcome is not reported.

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

    @Flag(help: "Wait until the router has accepted the event.")
    var ack = false

    @Flag(help: "Let the router keep the event for later subscribers that ask for it.")
    var retain = false

    @Flag(help: "Disclose the publisher to the subscribers, if the router allows it.")
    var discloseMe = false

    @OptionGroup(title: "Subscribers") var audience: WAMPAudienceOptions

    @Option(help: ArgumentHelp("The time limit for the router (default: 30 s).", valueName: "seconds"))
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

struct WAMPSubscribeCommand: WAMPRealmCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Print the events of a topic as they arrive.",
        discussion: """
            Prints a line of JSON for each event, and one with "gap" where events may be missing, because WAMP keeps no events for clients \
            that are not connected. The subscription survives the connection. Ends with SIGINT, or after --count or --for.

            EXAMPLE:
              holdfast wamp subscribe ws://localhost:9001/ realm1 com.example. --match prefix

            \(Outcome.table)
            """)

    @OptionGroup var realm: WAMPRealmOptions
    @OptionGroup(title: "Session") var login: WAMPLoginOptions
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The topic's URI, or a pattern; see --match.", valueName: "topic"))
    var topic: String

    @Option(help: "How topics are matched.")
    var match = WAMPMatch.exact

    @Flag(help: "Begin with the retained event of the topic, if there is one.")
    var retained = false

    @Option(help: ArgumentHelp("After a lost connection, fetch up to this many events from the router's history.", valueName: "count"))
    var history: Int?

    @Option(help: ArgumentHelp("End after this many events.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time.", valueName: "seconds"))
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
