import ArgumentParser

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a server for development, a hub of rooms, or a WAMP router.",
        subcommands: [ServeHubCommand.self, ServeEchoCommand.self, ServeQuotesCommand.self, ServeWAMPCommand.self])
}
