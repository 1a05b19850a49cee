import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastSocketIO
import HoldfastTerminal

struct SocketIOCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socketio",
        abstract: "Send and receive events of a Socket.IO server.",
        discussion: """
            It speaks Socket.IO protocol 5, the one of Socket.IO 3 and 4; with --protocol 4, the one of Socket.IO 1 and 2.

            EXAMPLE:
              holdfast socketio connect http://localhost:3000 --namespace /chat
            """,
        subcommands: [SocketIOConnectCommand.self, SocketIOEmitCommand.self, SocketIOOnCommand.self])
}

struct SocketIOConnectCommand: SocketIOClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Talk to a server: each line is an event.",
        discussion: """
            A line has the name of an event, and its arguments as JSON: chat "hi" 3. A word that is not JSON is a text. After the name, a \
            question mark asks for an acknowledgement: ask? 7. The server's events are printed in the same form.

            At a terminal there is a prompt. Otherwise each line of standard input is an event; after its end, the tool continues to receive \
            until nothing has arrived for --wait seconds.

            \(Outcome.table)
            """)

    @OptionGroup var server: SocketIOOptionGroup
    @OptionGroup(title: "Connection") var connection: ConnectionOptions
    @OptionGroup(title: "Display") var display: DisplayOptions

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("How long to wait for silence after the last line before closing, or 'forever'.", valueName: "seconds"))
    var wait = Patience.quiet(.seconds(1))

    func validate() throws { try checkConnection() }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let isInteractive = StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        let console = display.console(isInteractive: isInteractive, environment: environment)
        let input = LineInput(source: isInteractive ? .prompt : .standardInput, console: console)
        let wait = isInteractive ? Patience.quiet(.zero) : wait
        try await withClient { client, events in
            await console.note("connected to \(client.name)", .good)
            try await console.whileOpen { try await Self.talk(client, events, console, input, wait) }
        }
    }

    private static func talk(
        _ client: SocketIOClient, _ events: Events, _ console: Console, _ input: LineInput, _ wait: Patience
    ) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for try await event in events {
                    switch event {
                    case .event(let event):
                        await console.show(.text(SocketIOLine.text(event.name, event.content)), .received)
                        if event.wantsAnswer { await console.note("the server wants an answer to \(event.name)") }
                    case .gap(let away): await console.note("events may be missing: no session for \(away.phrase)", .bad)
                    case .undecodable(let failure): await console.note("\(failure)", .bad)
                    }
                }
                return true
            }
            group.addTask {
                for await state in client.states { await console.note(SocketIOLine.text(state)) }
                return false
            }
            group.addTask {
                let outcome = await input.forEach { line in await send(line, client, console) }
                if let outcome { throw outcome.code }
                await wait.pass(on: console)
                return true
            }
            while let isEnd = try await group.next(), !isEnd {}
            group.cancelAll()
        }
    }

    private static func send(_ line: String, _ client: SocketIOClient, _ console: Console) async {
        guard let event = SocketIOLine(line) else {
            if !line.allSatisfy(\.isWhitespace) { await console.note("not sent: a line begins with the name of an event", .bad) }
            return
        }
        do throws(SocketIOFailure) {
            guard event.wantsAnswer else { return try await client.emit(event.name, event.arguments) }
            let answer = try await client.request(event.name, event.arguments)
            await console.show(.text(SocketIOLine.text(event.name + "?", answer)), .received)
        } catch {
            await console.note("\(event.name): \(error)", .bad)
        }
    }
}

struct SocketIOEmitCommand: SocketIOClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "emit", abstract: "Send one event.",
        discussion: """
            With --ack the arguments of the acknowledgement are printed as a JSON array. An event is sent once; with --retries it is sent again \
            until the server acknowledges it.

            \(Outcome.table)
            """)

    @OptionGroup var server: SocketIOOptionGroup

    @Argument(help: ArgumentHelp("The name of the event.", valueName: "event"))
    var event: String

    @Argument(help: ArgumentHelp("Its arguments: JSON, or a text if it is not JSON.", valueName: "argument"))
    var arguments: [JSONArgument] = []

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Flag(help: "Wait for an acknowledgement, and print it.")
    var ack = false

    @Option(help: ArgumentHelp("Send the event again up to this often until it is acknowledged; implies --ack.", valueName: "count"))
    var retries: Int?

    func validate() throws {
        try checkConnection()
        if let retries, retries < 0 { throw ValidationError("--retries must not be negative.") }
    }

    func run() async throws {
        let patience = server.patience.duration
        let values = arguments.map(\.value)
        try await withClient(readsEvents: false) { client, _ in
            if let retries {
                let answer = try await client.request(event, values, within: patience, retries: retries)
                StandardOutput.write(Value.array(answer).jsonLine + "\n")
            } else if ack {
                StandardOutput.write(Value.array(try await client.request(event, values, within: patience)).jsonLine + "\n")
            } else {
                try await client.emit(event, values, within: patience)
            }
        }
    }
}

struct SocketIOOnCommand: SocketIOClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "on", abstract: "Print the events of the server.",
        discussion: """
            Each event is a line of JSON: an array with its name and its arguments. {"gap":…} says that events may be missing, because there was \
            no session for so many seconds. Ends with SIGINT, or after --count or --for.

            \(Outcome.table)
            """)

    @OptionGroup var server: SocketIOOptionGroup

    @Argument(help: ArgumentHelp("The names of the events; without any, all events are printed.", valueName: "event"))
    var events: [String] = []

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Option(help: ArgumentHelp("End after this many events.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time.", valueName: "seconds"))
    var duration: Seconds?

    func validate() throws {
        try checkConnection()
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
    }

    func run() async throws {
        let names = Set(events)
        try await withClient(for: duration?.duration) { _, events in
            var left = count ?? .max
            for try await event in events {
                switch event {
                case .event(let event):
                    guard names.isEmpty || names.contains(event.name) else { continue }
                    StandardOutput.write(Value.array([.text(event.name)] + event.content).jsonLine + "\n")
                    left -= 1
                case .gap(let away): StandardOutput.write(Value.map(["gap": .float(away / .seconds(1))]).jsonLine + "\n")
                case .undecodable(let failure): throw failure
                }
                if left == 0 { break }
            }
        }
    }
}

/// The server, and how the client logs in.
struct SocketIOOptionGroup: ParsableArguments {
    static let payloadVariable = "HOLDFAST_SOCKETIO_AUTH"

    @Argument(help: ArgumentHelp("http://host:port, https://…, ws://… or wss://… of a Socket.IO server", valueName: "url"))
    var url: String

    @Option(name: [.short, .long], help: ArgumentHelp("The namespace.", valueName: "name"))
    var namespace = "/"

    @Option(
        help: ArgumentHelp(
            "The payload for the namespace, as JSON. Other users can see a command line: set $\(Self.payloadVariable) instead.",
            valueName: "json"))
    var auth: JSONArgument?

    @Flag(help: "How the packets travel: --websocket from the start, --polling only, or --upgrade from polling to a WebSocket.")
    var transport = Transport.websocket

    @Option(
        name: .customLong("protocol"), help: ArgumentHelp("The protocol of the server: 5, or 4 for Socket.IO 1 and 2.", valueName: "5|4"),
        transform: { text in
            guard let version = Int(text).flatMap(SocketIOVersion.init) else { throw ValidationError("--protocol must be 4 or 5.") }
            return version
        })
    var version = SocketIOVersion.v5

    @Option(help: ArgumentHelp("How long to wait for the server, and for an acknowledgement.", valueName: "seconds"))
    var patience = Seconds(10)

    @Flag(help: "Print the beginning of each packet to standard error. Strings of the payload are left out.")
    var trace = false

    enum Transport: String, EnumerableFlag {
        case websocket, polling, upgrade
    }

    func validate() throws { _ = try address }

    var options: SocketIOOptions {
        var options = SocketIOOptions()
        options.version = version
        (options.acknowledgementTimeout, options.answerTimeout) = (patience.duration, patience.duration)
        switch transport {
        case .websocket: options.transport = .webSocket
        case .polling: options.transport = .polling
        case .upgrade: options.transport = .pollingThenWebSocket
        }
        return options
    }

    /// The URL of the WebSocket.
    var address: WebSocketURL { get throws { try URLArgument.parse(options.address(url)) } }

    /// The payload; from `environment` unless it is given.
    func payload(environment: [String: String]) -> Value? {
        auth?.value ?? environment[Self.payloadVariable].map { JSONArgument(argument: $0).value }
    }
}

/// A command that uses a namespace of a server.
protocol SocketIOClientCommand: AsyncParsableCommand {
    var server: SocketIOOptionGroup { get }
    var connection: ConnectionOptions { get }
}

extension SocketIOClientCommand {
    /// All events of the server.
    typealias Events = RequestEvents<SocketIOEvent<[Value]>, SocketIOFailure>

    func checkConnection() throws { try connection.validate(for: server.address) }

    /// Runs the body with a connected client, until it is done, a signal arrives, or the time is over; the outcome is the exit status.
    ///
    /// The body gets all events of the server, or only the latest if it does not read them.
    func withClient(
        for duration: Duration? = nil, readsEvents: Bool = true, _ body: @escaping @Sendable (SocketIOClient, Events) async throws -> Void
    ) async throws {
        let client = try client(environment: ProcessInfo.processInfo.environment)
        let patience = server.patience.duration
        let outcome = await Outcome.ofClient(for: duration, tell: SocketIOLine.tell) {
            // Events may come before the server confirms the namespace.
            let events = client.onAny(delivery: readsEvents ? .everyMessage() : .latest())
            try await client.ready(within: patience)
            try await body(client, events)
        }
        await client.close()
        if outcome != .clean { throw outcome.code }
    }

    private func client(environment: [String: String]) throws -> SocketIOClient {
        let (address, options) = (try server.address, server.options)
        let connecting = try connection.configuration(for: address, environment: environment)
        connection.warnIfInsecure()
        let trace = server.trace ? Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment) : nil
        let socket = WebSocket(address.string) { socket in
            options.prepare(&socket)
            socket.use(connecting, trace: trace)
        }
        var provider: SocketIOPayload?
        if let payload = server.payload(environment: environment) { provider = { payload } }
        return SocketIOClient(over: socket, namespace: server.namespace, options: options, payload: provider)
    }
}

/// A line that stands for an event: its name, and its arguments as JSON, separated by spaces.
struct SocketIOLine: Hashable {
    let name: String
    /// Whether the name was followed by a question mark.
    let wantsAnswer: Bool
    let arguments: [Value]

    init(name: String, wantsAnswer: Bool, arguments: [Value]) {
        (self.name, self.wantsAnswer, self.arguments) = (name, wantsAnswer, arguments)
    }

    /// Reads a line; nil if there is no name.
    init?(_ line: String) {
        var words = Self.words(line)[...]
        guard var name = words.popFirst() else { return nil }
        if case .text(let text)? = Value(jsonText: name) {
            (self.name, wantsAnswer) = (text, false)
        } else {
            wantsAnswer = name.count > 1 && name.last == "?"
            if wantsAnswer { name.removeLast() }
            self.name = name
        }
        arguments = words.map { JSONArgument(argument: $0).value }
    }

    /// Splits a line at its spaces, but not within JSON.
    private static func words(_ line: String) -> [String] {
        var (words, word) = ([String](), "")
        var (depth, isText, isEscaped) = (0, false, false)
        for character in line {
            if character.isWhitespace, depth == 0, !isText {
                if !word.isEmpty { words.append(word) }
                word = ""
                continue
            }
            word.append(character)
            if isText {
                if character == "\"", !isEscaped { isText = false }
                isEscaped = character == "\\" && !isEscaped
            } else if character == "\"" {
                isText = true
            } else if character == "[" || character == "{" {
                depth += 1
            } else if character == "]" || character == "}" {
                depth = max(0, depth - 1)
            }
        }
        return words + (word.isEmpty ? [] : [word])
    }

    /// Writes an event as such a line.
    static func text(_ name: String, _ arguments: [Value]) -> String {
        let isPlain = !name.isEmpty && !name.contains { $0.isWhitespace || "\"[]{}".contains($0) }
        return ([isPlain ? name.escapedOnOneLine : Value.text(name).jsonLine] + arguments.map(\.jsonLine)).joined(separator: " ")
    }

    /// Describes a state.
    static func text(_ state: SocketIOState) -> String {
        switch state {
        case .connecting: "connecting"
        case .connected(isRecovered: true): "connected, and no event is missing"
        case .connected: "connected"
        case .waiting(let error): "connection lost: \(error)"
        case .refused(let refusal, _): "refused: \(refusal.message)".escapedOnOneLine
        case .disconnected(byServer: true): "the server has ended the namespace"
        case .disconnected: "disconnected"
        case .closed: "closed"
        }
    }

    /// Prints an error and returns its outcome; a cancellation is not printed.
    static func tell(_ error: any Error) -> Outcome {
        let failure = error as? SocketIOFailure
        if failure?.code == .cancelled || error is CancellationError { return .interrupted }
        StandardOutput.warn("\(error)".escapedOnOneLine)
        return failure.map(Outcome.init) ?? .failed
    }
}

extension Outcome {
    /// Returns the outcome of a failed event.
    init(_ failure: SocketIOFailure) {
        self =
            switch failure.code {
            case .refused: .refused
            case .outcomeUnknown, .disconnected: .lost
            case .timedOut where failure.mayHaveArrived: .unanswered
            case .timedOut: (failure.underlying as? WebSocketError).map { Outcome($0) } ?? .unreachable
            case .cancelled: .interrupted
            case .unencodable: .usage
            case .closed: (failure.underlying as? WebSocketError).map { Outcome($0) } ?? .lost
            default: .failed
            }
    }
}
