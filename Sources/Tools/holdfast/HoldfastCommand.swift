import ArgumentParser
import HoldfastTerminal

@main struct HoldfastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast",
        abstract: "WebSocket connections from the terminal.",
        discussion: """
            Try it:
              holdfast demo
              holdfast serve echo
              holdfast connect ws://localhost:9001
              echo hello | holdfast connect ws://localhost:9001
              holdfast bench ws://localhost:9001
              holdfast serve quotes
              holdfast quotes ws://localhost:9001/feed
              holdfast serve hub --dev
              holdfast chat ws://localhost:9001/ --room lobby --name ann
              holdfast wamp subscribe ws://localhost:9001/ realm1 com.example.news
              holdfast graphql subscribe ws://localhost:4000/graphql 'subscription { news }'
              holdfast socketio connect http://localhost:3000

            \(Outcome.table)
            """,
        version: "0.1.0",
        subcommands: [
            ConnectCommand.self, BenchCommand.self, ServeCommand.self, ChaosCommand.self, DemoCommand.self, PinCommand.self,
            DoctorCommand.self, MeasureCommand.self, QuotesCommand.self, ChatCommand.self, RoomsCommands.self, WAMPCommand.self,
            GraphQLCommand.self, SocketIOCommand.self,
        ])
}
