import ArgumentParser

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a server for development.", subcommands: [ServeEchoCommand.self, ServeQuotesCommand.self])
}
