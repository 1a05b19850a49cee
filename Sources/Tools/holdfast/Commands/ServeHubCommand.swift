import ArgumentParser
import Foundation
import HoldfastHub
import HoldfastServer
import WebSocketCore

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
