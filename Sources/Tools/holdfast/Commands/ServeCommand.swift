import ArgumentParser
import Foundation
import Holdfast
import HoldfastHub
import HoldfastMarket
import HoldfastRouter
import HoldfastServer
import HoldfastTerminal
import QuotesCore
import WebSocketCore
import WebSocketRuntime

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a server for development, a hub of rooms, or a WAMP router.",
        subcommands: [ServeHubCommand.self, ServeEchoCommand.self, ServeQuotesCommand.self, ServeWAMPCommand.self])
}

struct ServeEchoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "Send every message back to its sender.",
        discussion: """
            The URL goes to standard output once the server listens, everything else to standard error. SIGINT (Control-C) and \
            SIGTERM close every connection with 1001 and end the server with status 0.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var messages: ServeMessageOptions

    func run() async throws {
        let development = DevelopmentServer(serve, messages)
        try await development.run { configuration in
            WebSocketServer(configuration: configuration) { connection, request in
                try await EchoHandler(log: development.log).serve(connection, request)
            }
        }
    }
}

/// Serves one client of the echo server.
struct EchoHandler: Sendable {
    let log: ServerLog

    /// Sends every message back until the client leaves, and logs the outcome.
    func serve(_ connection: WebSocketConnection, _ request: UpgradeRequest) async throws {
        let peer = (request.remoteAddress ?? "a client").escapedOnOneLine
        let opened = "\(peer) opened \(request.path.escapedOnOneLine) over HTTP/\(request.httpVersion)"
        log.note(opened + (connection.compression == nil ? "" : ", permessage-deflate"))
        var count = 0
        do {
            for try await message in connection.messages {
                try await connection.send(message)
                count += 1
            }
            log.note("\(peer) \(connection.closeRecord?.phrase ?? "left") (\(count.counted("message")))")
        } catch {
            log.problem("\(peer): \(error) (\(count.counted("message")))")
            throw error
        }
    }
}

struct ServeQuotesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quotes",
        abstract: "Serve an invented market with live prices.",
        discussion: """
            Quotes of hundreds of symbols, as JSON, MessagePack or Protocol Buffers: the server uses the format that a client offers \
            first. A client subscribes by symbol or pattern, and gets a snapshot and then the changes; a slow client gets the newest quote \
            of each symbol, and no backlog. The protocol is in docs/quotes-protocol.md.

            'holdfast quotes' shows the market in a terminal; in a browser it is at http://127.0.0.1:9001/quotes.

            The same --seed, --symbols and --rate give the same ticks, except for their times. The URL goes to standard output once the \
            server listens, everything else to standard error. SIGINT (Control-C) and SIGTERM close every connection with 1001 and end the \
            server with status 0.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var messages: ServeMessageOptions

    @Option(help: "The number of symbols, 1 to \(MarketPlan.symbolCounts.upperBound).")
    var symbols = 500

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Ticks per second over all symbols; at most \(Market.beatsPerSecond) for each symbol.", valueName: "rate"))
    var rate = 2000

    @Option(help: "The seed for random choices (default: a random one, which is printed).")
    var seed: UInt64?

    @Flag(
        inversion: .prefixedNo,
        help: "Simulate openings, news and quiet times: the rate varies from a quarter to four times; without them, it is exact.")
    var bursts = true

    @Option(
        help: ArgumentHelp("Drop this share of the tick messages, from 0 to 1, so that clients have to detect gaps.", valueName: "share"))
    var drop = 0.0

    func validate() throws {
        guard MarketPlan.symbolCounts ~= symbols else {
            throw ValidationError("--symbols: use \(MarketPlan.symbolCounts.lowerBound) to \(MarketPlan.symbolCounts.upperBound).")
        }
        let highest = MarketPlan.highestRate(symbols: symbols)
        guard 1...highest ~= rate else {
            throw ValidationError("--rate: \(symbols.counted("symbol")) can have 1 to \(highest) ticks per second; see --symbols.")
        }
        guard 0...1 ~= drop else { throw ValidationError("--drop: use 0 to 1.") }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0...UInt64(UInt32.max))
        let opening = WallClock.milliseconds
        let floor = MarketFloor(
            MarketPlan(symbols: symbols, rate: rate, seed: seed, mood: bursts ? .lively : .calm, opening: opening))
        let development = DevelopmentServer(serve, messages, path: "/feed")
        let server = QuotesServer(floor: floor, drop: drop, seed: seed, log: development.log)
        development.log.note("\(symbols.counted("symbol")), \(rate.grouped) ticks/s, seed \(seed)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            try await development.run { server.server($0) }
        }
    }
}

struct ServeHubCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub",
        abstract: "Serve rooms: every member gets all messages in one order, and they are stored on disk before they are acked.",
        discussion: """
            Clients connect to /rooms with the protocol of docs/rooms-protocol.md: 'holdfast chat', 'holdfast rooms', an app with \
            HoldfastRooms, or the hub's own page at /. On the same port are /status, /healthz, /readyz, /metrics (Prometheus) and, with an \
            API key, POST and GET /api/rooms/ROOM/messages, GET /api/rooms/ROOM/export and POST /api/backup. Status and metrics are only \
            for this machine, and for clients with an API key.

            The hub must be able to identify its clients: give keys for JSON Web Tokens, or --dev during development. The claims of a \
            token are sub (the user), exp, nbf, iss, aud, and rooms, such as {"team-*": "rwp", "lobby": "r"}: read, write, presence, admin.

            --config names a JSON file with the same names as the options, such as {"data": "/var/lib/rooms", "port": 9001, \
            "jwks": "keys.json", "limit": {"user.connections": 5}}; options on the command line override the file.

            The URL goes to standard output once the hub listens, everything else to standard error. SIGINT (Control-C) and SIGTERM tell \
            every client when to come back, ack the accepted messages, and end the hub with status 0; a second signal ends it at once.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var hub: HubOptions

    func run() async throws {
        let file = try hub.settings()
        let (serve, hub) = (try file.completing(serve), try file.completing(hub))
        let runner = ServerRunner(serve)
        let log = runner.log
        try await runner.run { server, certificate in
            let configuration = try await hub.configuration(server, isQuiet: serve.quiet)
            try await Hub(configuration).withRunning { hub in
                StandardOutput.write(hub.url + "\n")
                log.note("the log is in \(configuration.data.escapedOnOneLine)")
                if serve.unix == nil {
                    let page = hub.server.url().replacing(/^ws/, with: "http")
                    log.note("page: \(page)  status: \(page)status")
                }
                if let certificate { log.note("trust it with --ca \(certificate.certificateFile)") }
                if configuration.takesDevelopmentTokens { log.note("chat: holdfast chat \(hub.url) --room lobby --name YOU") }
                _ = await Signals.firstEnding()
                log.note("closing \(hub.server.connectionCount.counted("connection"))")
            }
        }
    }
}

struct ServeWAMPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wamp",
        abstract: "Serve a WAMP router: calls and topics, for development, tests and small services.",
        discussion: """
            A broker and a dealer in one process, at /ws and at /, for wamp.2.json, wamp.2.msgpack and wamp.2.cbor: the router uses the \
            one that a client offers first. It supports patterns, shared registrations, progress, cancellation, timeouts, retained events, \
            testaments and the meta API. Everything is kept in memory, and is lost when the router ends. It checks strictly what clients \
            send: a client that violates the protocol is disconnected with a reason.

            Anonymous clients may join, with the role anonymous, if no users are given or with --anonymous. Everybody on this machine can \
            see secrets in options: use --users for secrets that matter. Each line of that file has a method (ticket, cra, or salted for \
            CRA with a salt), a name, a secret, and optionally a role, such as 'ticket ann sesame frontend'. The salts are derived from \
            the file FILE.key beside it, so that they stay the same; the router creates this file if it does not exist.

            Every client that has joined may call the meta API, even an anonymous one; --no-meta turns it off. Clients can end the \
            sessions of others (wamp.session.kill) only with --allow-kill.

            --quirks makes the router imitate another router in ways that are known to cause problems for clients.

            The URL goes to standard output once the router listens, everything else to standard error. SIGINT (Control-C) and SIGTERM say \
            goodbye to every session and end the router with status 0; a second signal ends it at once.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var messages: ServeMessageOptions
    @OptionGroup var router: RouterOptions

    func run() async throws {
        var serve = serve
        serve.port = serve.port ?? 9001
        let runner = ServerRunner(serve)
        let log = runner.log
        try await runner.run { server, certificate in
            var server = server
            messages.apply(to: &server)
            let configuration = try router.configuration(server, log)
            let router = WAMPRouter(configuration)
            try await router.withRunning { running in
                StandardOutput.write(running.url("/ws") + "\n")
                let realms = configuration.policy.realms.map { $0.sorted().joined(separator: ", ") } ?? "any"
                log.note("for development, tests and small services; realms: \(realms.escapedOnOneLine); everything is kept in memory")
                if let certificate { log.note("trust it with --ca \(certificate.certificateFile)") }
                _ = await Signals.firstEnding()
                let status = router.status
                let work = "\(status.calls.counted("call")) and \(status.events.counted("event"))"
                log.note("saying goodbye to \(status.sessions.counted("session")), after \(work)")
            }
        }
    }
}
