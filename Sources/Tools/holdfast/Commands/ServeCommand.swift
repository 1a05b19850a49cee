import ArgumentParser

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a server for development, or a hub of rooms.",
        subcommands: [ServeHubCommand.self, ServeEchoCommand.self, ServeQuotesCommand.self])
}
