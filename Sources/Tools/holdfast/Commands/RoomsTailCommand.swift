import ArgumentParser
import Foundation
import HoldfastRooms

struct RoomsTailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Print the entries of a room as they come.",
        discussion: """
            A line of JSON for each entry, in the order of the room, without a gap and without a repeat whatever happens to the connection. \
            With --store it goes on after the last entry that it printed before. "replaced":true says that what came before no longer \
            joins what follows. Ends with SIGINT, or after --count or --for.

            EXAMPLE:
              holdfast rooms tail ws://localhost:9001/ --room lobby --name bob --from beginning

            \(Outcome.table)
            """)

    /// Where to begin.
    enum Beginning: ExpressibleByArgument {
        case start(RoomStart)
        case after(Int64)

        init?(argument: String) {
            switch argument {
            case "now": self = .start(.now)
            case "beginning": self = .start(.beginning)
            default:
                guard let number = Int64(argument), number >= 0 || number > -1_000_000 else { return nil }
                self = number < 0 ? .start(.last(Int(-number))) : .after(number)
            }
        }

        /// As it is written on the command line, and so in the help.
        var defaultValueDescription: String {
            switch self {
            case .start(.now): "now"
            case .start(.beginning): "beginning"
            case .start(.last(let count)): "-\(count)"
            case .after(let number): "\(number)"
            }
        }
    }

    @OptionGroup var options: RoomOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where to begin if nothing is stored: 'now', 'beginning', -20 for the last 20, or 57 for all after number 57.",
            valueName: "place"))
    var from = Beginning.start(.last)

    @Option(help: ArgumentHelp("End after so many entries.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after so long.", valueName: "seconds"))
    var duration: Seconds?

    @Flag(help: "Print lines for people.")
    var text = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count: at least 1.") }
    }

    func run() async throws {
        let rooms = try await options.rooms(environment: ProcessInfo.processInfo.environment)
        let outcome = await ending(rooms, after: duration?.duration) { await tail(in: rooms) }
        if outcome != .clean { throw outcome.code }
    }

    private func tail(in rooms: Rooms) async -> Outcome {
        var (start, least, left) = (RoomStart.beginning, Int64(0), count ?? .max)
        switch from {
        case .start(let given): start = given
        case .after(let number): least = number
        }
        do {
            let room = try await rooms.join(options.room, from: start, limit: 0, presence: nil)
            let mark = try options.store.map { try PrintedMark(store: $0, room: room.name) }
            if mark?.position != nil { least = 0 }
            var epoch = mark?.position?.epoch
            for try await update in mark?.position.map(room.messages(after:)) ?? room.messages {
                switch update {
                case .entry(let entry):
                    let position = LogPosition(epoch: epoch ?? room.status.cursor.epoch, seq: entry.seq)
                    epoch = position.epoch
                    guard entry.seq > least else { continue }
                    if !text {
                        StandardOutput.write(EntryLine.json(entry, room: room.name) + "\n")
                    } else if let line = EntryLine.text(entry) {
                        StandardOutput.write(line + "\n")
                    }
                    try mark?.note(position)
                    left -= 1
                    if left == 0 { return .clean }
                case .replaced(let position):
                    // Another log counts anew.
                    if let epoch, epoch != position.epoch { least = 0 }
                    epoch = position.epoch
                    if !text { StandardOutput.write(EntryLine.json(replaced: position, in: room.name) + "\n") }
                }
            }
            return .clean
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return (error as? RoomsError).map { Outcome($0) } ?? .failed
        }
    }
}

/// Runs what a command does with rooms until it is done, a signal comes, or the time is over; then closes them.
func ending(_ rooms: Rooms, after duration: Duration? = nil, _ body: @escaping @Sendable () async -> Outcome) async -> Outcome {
    enum End: Sendable {
        case outcome(Outcome)
        case fatal(RoomsError)
    }
    let end = await withTaskGroup(of: End?.self) { group in
        group.addTask { .outcome(await body()) }
        group.addTask { await Signals.firstEnding().map { .outcome($0) } }
        group.addTask { await fatalEnd(of: rooms).map { .fatal($0) } }
        if let duration { group.addTask { (try? await Task.sleep(for: duration)) == nil ? nil : .outcome(.clean) } }
        var end: End?
        while end == nil, let next = await group.next() { end = next }
        group.cancelAll()
        return end
    }
    await rooms.close()
    // Not before the body has given the screen back.
    if case .fatal(let error) = end { StandardOutput.warn("\(error)".escapedOnOneLine) }
    return switch end {
    case .outcome(let outcome): outcome
    case .fatal(let error): Outcome(error)
    case nil: .failed
    }
}

/// Waits until the rooms have ended for a reason that trying again does not help.
private func fatalEnd(of rooms: Rooms) async -> RoomsError? {
    for await state in rooms.states { if case .closed(let error?) = state { return error } }
    return nil
}
