import ArgumentParser

struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "Send to a room of a hub, and read it, from scripts.",
        discussion: "A hub is what 'holdfast serve hub' serves; 'holdfast chat' is for people.",
        subcommands: [RoomsSendCommand.self, RoomsTailCommand.self, RoomsHistoryCommand.self, RoomsOutboxCommand.self])
}
