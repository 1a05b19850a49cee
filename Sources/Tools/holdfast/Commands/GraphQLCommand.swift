import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastGraphQL
import HoldfastTerminal

struct GraphQLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "graphql",
        abstract: "Subscribe, query and mutate over GraphQL on a WebSocket.",
        discussion: """
            GraphQL speaks graphql-transport-ws, or the older graphql-ws if the server picks that.

            EXAMPLE:
              holdfast graphql subscribe ws://localhost:4000/graphql 'subscription { ticks(symbol: "SAIL") { price } }'
            """,
        subcommands: [GraphQLSubscribeCommand.self, GraphQLQueryCommand.self, GraphQLMutateCommand.self])
}

struct GraphQLSubscribeCommand: GraphQLOperationCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Print the events of a subscription.",
        discussion: """
            Each event is a line of JSON: its data, or {"data":…,"errors":[…]} if there are errors. The subscription is sent again after \
            every reconnect. Events may be missing then: {"gap":…} says for how many seconds there was no connection. Ends when the server \
            completes the subscription, with SIGINT, or after --count or --for.

            \(Outcome.table)
            """)

    @OptionGroup var operation: GraphQLOptionGroup
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
        try await withClient(for: duration?.duration) { client, operation in
            var left = count ?? .max
            for try await event in client.subscribe(operation) {
                switch event {
                case .response(let response):
                    StandardOutput.write(GraphQLLine.response(response) + "\n")
                    left -= 1
                case .gap(let away): StandardOutput.write(Value.map(["gap": .float(away / .seconds(1))]).jsonLine + "\n")
                case .undecodable(let failure): throw failure
                }
                if left == 0 { break }
            }
        }
    }
}

struct GraphQLQueryCommand: GraphQLOperationCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Send a query, and print its answer.",
        discussion: """
            The answer is a line of JSON: its data, or {"data":…,"errors":[…]} if there are errors; the status is then 9. A query is sent again \
            if the connection is lost before the answer comes.

            \(Outcome.table)
            """)

    @OptionGroup var operation: GraphQLOptionGroup
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws { try checkConnection() }

    func run() async throws {
        let patience = operation.patience.duration
        try await withClient { client, operation in try GraphQLLine.print(try await client.query(operation, within: patience)) }
    }
}

struct GraphQLMutateCommand: GraphQLOperationCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutate", abstract: "Send a mutation once, and print its answer.",
        discussion: """
            The answer is printed as with query. A mutation is never sent twice: if the connection is lost before the answer comes, the status \
            is 2, and the server may have carried it out.

            \(Outcome.table)
            """)

    @OptionGroup var operation: GraphQLOptionGroup
    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws { try checkConnection() }

    func run() async throws {
        let patience = operation.patience.duration
        try await withClient { client, operation in try GraphQLLine.print(try await client.mutate(operation, within: patience)) }
    }
}

/// The operation, and how the client logs in.
struct GraphQLOptionGroup: ParsableArguments {
    static let payloadVariable = "HOLDFAST_GRAPHQL_PAYLOAD"

    @Argument(help: ArgumentHelp("ws://host:port/path or wss://… of a GraphQL server", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("The document, such as 'subscription { … }'.", valueName: "document"))
    var document: String

    @Option(help: ArgumentHelp("The variables, as a JSON object.", valueName: "json"))
    var variables: JSONArgument?

    @Option(help: ArgumentHelp("The operation to run, if the document has several.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The payload of connection_init, as JSON. Other users can see a command line: set $\(Self.payloadVariable) instead.",
            valueName: "json"))
    var payload: JSONArgument?

    @Flag(help: "Offer only the legacy protocol graphql-ws.")
    var legacy = false

    @Option(help: ArgumentHelp("How long to wait for the acknowledgement, and for an answer.", valueName: "seconds"))
    var patience = Seconds(10)

    @Flag(help: "Print the beginning of each message to standard error. Strings of the payload are left out.")
    var trace = false

    func validate() throws {
        if let variables, variables.value.entries == nil { throw ValidationError("--variables: give a JSON object, such as '{\"id\":7}'.") }
    }

    /// The payload; from `environment` unless it is given.
    func payload(environment: [String: String]) -> Value? {
        payload?.value ?? environment[Self.payloadVariable].map { JSONArgument(argument: $0).value }
    }
}

/// A command that runs an operation.
protocol GraphQLOperationCommand: AsyncParsableCommand {
    var operation: GraphQLOptionGroup { get }
    var connection: ConnectionOptions { get }
}

extension GraphQLOperationCommand {
    func checkConnection() throws {
        try connection.validate(for: operation.url)
        if !connection.subprotocol.isEmpty { throw ValidationError("--subprotocol: use --legacy instead.") }
    }

    /// Runs the body with a connected client, until it is done, a signal arrives, or the time is over; the outcome is the exit status.
    func withClient(
        for duration: Duration? = nil,
        _ body: @escaping @Sendable (GraphQLClient, GraphQLOperation<Value, Value>) async throws -> Void
    ) async throws {
        let client = try client(environment: ProcessInfo.processInfo.environment)
        let work = GraphQLOperation(operation.document, name: operation.name, variables: operation.variables?.value ?? .null)
        let patience = operation.patience.duration
        let outcome = await Outcome.ofClient(for: duration, tell: GraphQLLine.tell) {
            try await client.ready(within: patience)
            try await body(client, work)
        }
        await client.close()
        if outcome != .clean { throw outcome.code }
    }

    private func client(environment: [String: String]) throws -> GraphQLClient {
        let connecting = try connection.configuration(for: operation.url, environment: environment)
        connection.warnIfInsecure()
        var options = GraphQLOptions()
        if operation.legacy { options.protocols = [.legacy] }
        options.acknowledgementTimeout = operation.patience.duration
        let trace = operation.trace ? Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment) : nil
        let payload = operation.payload(environment: environment)
        var provider: GraphQLPayload?
        if let payload { provider = { payload } }
        return GraphQLClient(operation.url.string, options: options, payload: provider) { $0.use(connecting, trace: trace) }
    }
}

/// Formats answers as lines of JSON, and failures as exit statuses.
enum GraphQLLine {
    static func response(_ response: GraphQLResponse<Value>) -> String {
        guard !response.errors.isEmpty else { return (response.data ?? .null).jsonLine }
        let errors = response.errors.map { error -> Value in
            var fields: ValueMap = ["message": .text(error.message)]
            if !error.path.isEmpty { fields["path"] = .array(error.path.map { .text($0.description) }) }
            if !error.extensions.isEmpty { fields["extensions"] = .map(error.extensions) }
            return .map(fields)
        }
        return Value.map(["data": response.data ?? .null, "errors": .array(errors)]).jsonLine
    }

    /// Prints an answer; throws its errors.
    static func print(_ response: GraphQLResponse<Value>) throws(GraphQLFailure) {
        StandardOutput.write(self.response(response) + "\n")
        if !response.errors.isEmpty { _ = try response.complete() }
    }

    /// Prints an error and returns its outcome; a cancellation is not printed.
    static func tell(_ error: any Error) -> Outcome {
        let failure = error as? GraphQLFailure
        if failure?.code == .cancelled || error is CancellationError { return .interrupted }
        StandardOutput.warn("\(error)".escapedOnOneLine)
        return failure.map(Outcome.init) ?? .failed
    }
}

extension Outcome {
    /// Returns the outcome of a failed operation.
    init(_ failure: GraphQLFailure) {
        self =
            switch failure.code {
            case .refused, .rejected: .answeredWithError
            case .connectionRefused: .refused
            case .outcomeUnknown: .lost
            case .timedOut where failure.mayHaveArrived: .unanswered
            case .timedOut: (failure.underlying as? WebSocketError).map { Outcome($0) } ?? .unreachable
            case .cancelled: .interrupted
            case .unencodable: .usage
            case .closed: (failure.underlying as? WebSocketError).map { Outcome($0) } ?? .lost
            default: .failed
            }
    }
}
