import ArgumentParser
import Foundation
import HoldfastRooms

struct RoomsHistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Print the last entries of a room, and end.",
        discussion: """
            Lines of JSON, oldest first.

            EXAMPLE:
              holdfast rooms history ws://localhost:9001/ --room lobby --name bob --limit 100 --before 58

            \(Outcome.table)
            """)

    @OptionGroup var options: RoomOptions

    @Option(help: ArgumentHelp("How many at most.", valueName: "count"))
    var limit = 50

    @Option(help: ArgumentHelp("Only those below this number.", valueName: "number"))
    var before: Int64?

    @Option(help: ArgumentHelp("How long to wait for the hub.", valueName: "seconds"))
    var timeout = Seconds(30)

    @Flag(help: "Print lines for people.")
    var text = false

    func validate() throws {
        guard 1...1_000_000 ~= limit else { throw ValidationError("--limit: use 1 to 1000000.") }
        if let before, before < 1 { throw ValidationError("--before: at least 1.") }
    }

    func run() async throws {
        let rooms = try await options.rooms(environment: ProcessInfo.processInfo.environment)
        let outcome = await ending(rooms) { await print(in: rooms) }
        if outcome != .clean { throw outcome.code }
    }

    private func print(in rooms: Rooms) async -> Outcome {
        do throws(RoomsError) {
            let room = try await rooms.join(options.room, from: .last(min(limit, 500)), presence: nil)
            try await room.whenLive(within: timeout.duration)
            var (pages, left, place) = ([[Entry]](), limit, before ?? room.status.cursor.seq + 1)
            while left > 0, place > 1 {
                let page = try await room.earlier(than: place, limit: min(left, 500), within: timeout.duration)
                pages.append(page.entries)
                left -= page.entries.count
                guard let first = page.entries.first, !page.reachedBeginning else { break }
                place = first.seq
            }
            for entry in pages.reversed().joined() {
                if !text {
                    StandardOutput.write(EntryLine.json(entry, room: room.name) + "\n")
                } else if let line = EntryLine.text(entry) {
                    StandardOutput.write(line + "\n")
                }
            }
            return .clean
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return Outcome(error)
        }
    }
}
