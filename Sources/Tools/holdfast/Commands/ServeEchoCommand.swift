import ArgumentParser
import HoldfastServer

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
