import ArgumentParser
import Foundation
import HoldfastRooms

struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Talk in a room of a hub.",
        discussion: """
            At a terminal it takes the whole screen: messages with what has become of the own ones (… waiting, ↑ sent, ✓ stored, \
            ✓✓ seen, ✗ failed), who is there and who types, and how the connection is. It survives cuts: what is written meanwhile waits. \
            ↑ on an empty line or Page up goes back, Control-R sends what has failed again and Control-X discards it, Control-C ends.

            Into or from a pipe, or with --plain or --json, each line of standard input is a message and each entry a line; it ends when \
            the input has ended and everything is stored.

            EXAMPLE:
              holdfast serve hub --dev
              holdfast chat ws://localhost:9001/ --room lobby --name ann

            \(Outcome.table)
            """)

    @OptionGroup var options: RoomOptions

    @Flag(help: "Lines, not the whole screen.")
    var plain = false

    @Flag(help: "Print lines of JSON.")
    var json = false

    @Option(help: ArgumentHelp("How many earlier messages to begin with, if nothing is stored.", valueName: "count"))
    var last = 50

    @Option(help: ArgumentHelp("In a pipe: how long to wait for each message to be stored, after the one before it.", valueName: "seconds"))
    var timeout = Seconds(30)

    func validate() throws {
        guard 0...10_000 ~= last else { throw ValidationError("--last: use 0 to 10000.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rooms = try await options.rooms(environment: environment)
        let isScreen = !plain && !json && StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: environment)
        let outcome = await ending(rooms) {
            do throws(RoomsError) {
                let room = try await rooms.join(options.room, from: .last(last))
                let session = ChatSession(rooms: rooms, room: room, style: style, hasStore: options.store != nil)
                return isScreen ? await session.show() : await session.pipe(json: json, patience: timeout.duration)
            } catch {
                StandardOutput.warn("\(error)".escapedOnOneLine)
                return Outcome(error)
            }
        }
        if outcome != .clean { throw outcome.code }
    }
}
