import ArgumentParser
import Foundation
import Holdfast
import HoldfastHub
import HoldfastRouter
import HoldfastServer
import QuotesCore
import WebSocketCore

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a server for development, a hub of rooms, or a WAMP router.",
        subcommands: [ServeHubCommand.self, ServeEchoCommand.self, ServeQuotesCommand.self, ServeWAMPCommand.self])
}

struct ServeEchoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "Send every message back to whoever sent it.",
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

    /// Sends everything back until the client leaves, and logs how that went.
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
        abstract: "Serve a made-up but lively market.",
        discussion: """
            Quotes of hundreds of symbols, as JSON, MessagePack or Protocol Buffers: what a client offers first. A client \
            subscribes by symbol or pattern, gets a snapshot and then what changes; a slow one gets the newest of each symbol, and no \
            backlog. The protocol is in docs/quotes-protocol.md.

            'holdfast quotes' shows the market in a terminal, and a browser does at http://127.0.0.1:9001/quotes.

            The same --seed, --symbols and --rate give the same ticks, but for the time in them. The URL goes to standard output once the \
            server listens, everything else to standard error. SIGINT (Control-C) and SIGTERM close every connection with 1001 and end the server \
            with status 0.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var messages: ServeMessageOptions

    @Option(help: "How many symbols, 1 to \(MarketPlan.symbolCounts.upperBound).")
    var symbols = 500

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Ticks per second, all symbols together; at most \(Market.beatsPerSecond) for each symbol.", valueName: "rate"))
    var rate = 2000

    @Option(help: "What all chance follows from (default: drawn, and printed).")
    var seed: UInt64?

    @Flag(
        inversion: .prefixedNo,
        help: "Openings, news and quiet times, that change the rate from a quarter to four times; without, the rate is exact.")
    var bursts = true

    @Option(
        help: ArgumentHelp("Drop this share of the tick messages, from 0 to 1, so that clients have gaps to find.", valueName: "share"))
    var drop = 0.0

    func validate() throws {
        guard MarketPlan.symbolCounts ~= symbols else {
            throw ValidationError("--symbols: use \(MarketPlan.symbolCounts.lowerBound) to \(MarketPlan.symbolCounts.upperBound).")
        }
        let highest = MarketPlan.highestRate(symbols: symbols)
        guard 1...highest ~= rate else {
            throw ValidationError("--rate: \(symbols.counted("symbol")) can have 1 to \(highest) ticks per second; see --symbols.")
        }
        guard 0...1 ~= drop else { throw ValidationError("--drop: a share is from 0 to 1.") }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0...UInt64(UInt32.max))
        let opening = Int64(Date().timeIntervalSince1970 * 1000)
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
        abstract: "Serve rooms: messages in order, on disk before they are acked, to every member.",
        discussion: """
            Clients connect to /rooms with the protocol of docs/rooms-protocol.md: 'holdfast chat', 'holdfast rooms', an app with HoldfastRooms, \
            or the page that the hub itself has at /. On the same port are /status, /healthz, /readyz, /metrics (Prometheus) and, with an API \
            key, POST and GET /api/rooms/ROOM/messages, GET /api/rooms/ROOM/export and POST /api/backup. Status and metrics are for this \
            machine, and for who shows an API key.

            Somebody has to vouch for who joins: give keys for JSON Web Tokens, or --dev while developing. The claims of a token are \
            sub (the user), exp, nbf, iss, aud, and rooms, such as {"team-*": "rwp", "lobby": "r"}: read, write, presence, admin.

            --config names a JSON file with the same names as the options, such as {"data": "/var/lib/rooms", "port": 9001, "jwks": "keys.json", \
            "limit": {"user.connections": 5}}; what is given as an option holds against it.

            The URL goes to standard output once the hub listens, everything else to standard error. SIGINT (Control-C) and SIGTERM tell every \
            client when to come back, ack what was taken, and end the hub with status 0; a second one ends it at once.
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
            A broker and a dealer in one process, at /ws and at /, for wamp.2.json, wamp.2.msgpack and wamp.2.cbor: what a client \
            offers first. It has patterns, shared registrations, progress, cancellation, timeouts, retained events, testaments and the \
            meta API. All is kept in memory, and ends with it. It checks strictly what clients send: who breaks the protocol is cut \
            off, and told why.

            Anonymous clients may join, as the role anonymous, unless users are given; with --anonymous also then. Secrets given as \
            options are seen by everybody on this machine: use --users for those that matter. Each line of that file is a method \
            (ticket, cra, or salted for CRA with a salt), a name, a secret, and perhaps a role, such as 'ticket ann sesame frontend'. \
            Beside it stands FILE.key, which is made if it is not there: salts follow from it, so that they stay the same.

            Who has joined may call the meta API, anonymous or not, and so end the sessions of others (wamp.session.kill): where that \
            matters, use --no-meta.

            --quirks makes the router behave as another one does, where that is known to trouble clients.

            The URL goes to standard output once the router listens, everything else to standard error. SIGINT (Control-C) and SIGTERM say \
            goodbye to every session and end the router with status 0; a second one ends it at once.
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
                log.note("for development, tests and small services; realms: \(realms.escapedOnOneLine); all is kept in memory")
                if let certificate { log.note("trust it with --ca \(certificate.certificateFile)") }
                _ = await Signals.firstEnding()
                let status = router.status
                let work = "\(status.calls.counted("call")) and \(status.events.counted("event"))"
                log.note("saying goodbye to \(status.sessions.counted("session")), after \(work)")
            }
        }
    }
}
