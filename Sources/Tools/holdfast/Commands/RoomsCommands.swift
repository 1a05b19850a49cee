import ArgumentParser
import Foundation
import HoldfastRooms
import HoldfastTerminal
import RoomCore
import WebSocketRuntime

struct RoomsCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "Send messages to a room of a hub, and read it, from scripts.",
        discussion: "'holdfast serve hub' runs a hub; for people there is 'holdfast chat'.",
        subcommands: [RoomsSendCommand.self, RoomsTailCommand.self, RoomsHistoryCommand.self, RoomsOutboxCommand.self])
}

struct RoomsTailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Print the entries of a room as they arrive.",
        discussion: """
            Prints a line of JSON for each entry, in the order of the room, without gaps or repeats whatever happens to the connection. \
            With --store it continues after the last entry that it printed before. "replaced":true means that the earlier entries and \
            the following ones are not contiguous. Ends with SIGINT, or after --count or --for.

            EXAMPLE:
              holdfast rooms tail ws://localhost:9001/ --room lobby --name bob --from beginning

            \(Outcome.table)
            """)

    /// The place to begin.
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

        /// The value as written on the command line, for the help.
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
            "Where to begin if nothing is stored: 'now', 'beginning', -20 for the last 20, or 57 for all entries after number 57.",
            valueName: "place"))
    var from = Beginning.start(.last)

    @Option(help: ArgumentHelp("End after this many entries.", valueName: "count"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time.", valueName: "seconds"))
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
                    // Another log has its own sequence numbers.
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

/// Runs `body` until it is done, a signal arrives, or the time is over; then closes the rooms.
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
    // Only after the body has restored the screen.
    if case .fatal(let error) = end { StandardOutput.warn("\(error)".escapedOnOneLine) }
    return switch end {
    case .outcome(let outcome): outcome
    case .fatal(let error): Outcome(error)
    case nil: .failed
    }
}

/// Waits until the rooms have ended with an error that a retry does not fix.
private func fatalEnd(of rooms: Rooms) async -> RoomsError? {
    for await state in rooms.states { if case .closed(let error?) = state { return error } }
    return nil
}

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

    @Option(help: ArgumentHelp("The maximum number of entries.", valueName: "count"))
    var limit = 50

    @Option(help: ArgumentHelp("Only entries below this number.", valueName: "number"))
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

struct RoomsSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send messages, and wait until the hub has stored them on disk.",
        discussion: """
            Each text is a message; without texts, each line of standard input is one. Prints a line of JSON for each message, in order: \
            its id, whether it is stored, and where. The status is 0 only if all are stored. With --store, messages that could not be sent \
            in time wait there, and the next run sends them first. Messages that the hub refused for good also stay there, see \
            'holdfast rooms outbox'.

            EXAMPLE:
              holdfast rooms send ws://localhost:9001/ --room lobby --name ann 'hello'

            \(Outcome.table)
            """)

    @OptionGroup var options: RoomOptions

    @Argument(help: ArgumentHelp("The messages to send.", valueName: "text"))
    var texts: [String] = []

    @Option(help: ArgumentHelp("The type of the messages; all except \(ChatText.typeName) take JSON, not text.", valueName: "type"))
    var type = ChatText.typeName

    @Option(help: ArgumentHelp("How long to wait for each message to be stored, after the previous one.", valueName: "seconds"))
    var timeout = Seconds(30)

    func validate() throws {
        guard 1...64 ~= type.utf8.count else { throw ValidationError("--type: use 1 to 64 bytes.") }
        if type != ChatText.typeName {
            for text in texts where JSONLayout.pretty(text) == nil {
                throw ValidationError("\(text.escapedOnOneLine.prefix(80)) is not JSON; see --type.")
            }
        }
    }

    func run() async throws {
        let rooms = try await options.rooms(environment: ProcessInfo.processInfo.environment)
        let outcome = await ending(rooms) { await send(in: rooms) }
        if outcome != .clean { throw outcome.code }
    }

    private func send(in rooms: Rooms) async -> Outcome {
        let room: Room
        do throws(RoomsError) {
            room = try await rooms.join(options.room, from: .now, presence: nil)
        } catch {
            notify(.failed(nil, error))
            return Outcome(error)
        }
        let failed = room.outbox.filter(\.stage.isFailed)
        if !failed.isEmpty {
            StandardOutput.warn("\(failed.count.counted("message")) from earlier runs failed: see 'holdfast rooms outbox'")
        }
        // Messages that an earlier run left behind go first.
        let left = room.outbox.filter { !$0.stage.isFailed }.compactMap { room.receipt(for: $0.id) }
        let sender = LineSender(rooms: rooms, patience: timeout.duration) { text throws(RoomsError) in
            if type == ChatText.typeName { return try await room.send(ChatText(text)) }
            guard JSONLayout.pretty(text) != nil else { return nil }
            return try await room.send(type, .json(Array(text.utf8)))
        }
        return await sender.send(Lines(texts: texts), after: left, notify: notify).outcome
    }

    private func notify(_ result: LineSender.LineResult) {
        switch result {
        case .stored(let id, let position): StandardOutput.write(EntryLine.json(stored: id, at: position, in: options.room) + "\n")
        case .failed(let id, let error): StandardOutput.write(EntryLine.json(failed: id, in: options.room, error) + "\n")
        case .unfit(let reason): StandardOutput.warn(reason)
        }
    }
}

struct RoomsOutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Print the outbox of a store, and retry or discard failed messages.",
        discussion: """
            Prints a line of JSON for each message that is not known to be stored: whether it waits or has failed, and why. It needs no \
            hub, but no other program may have the store open. With --retry, the failed messages wait again, and are sent when the store \
            is used the next time; with --discard, they are deleted. Then only the affected messages are printed.

            EXAMPLE:
              holdfast rooms outbox --store ann --retry
              holdfast rooms send ws://localhost:9001/ --room lobby --name ann --store ann </dev/null

            \(Outcome.table)
            """)

    @Option(help: ArgumentHelp("The store directory, as given to the other commands.", valueName: "directory"))
    var store: String

    @Option(help: ArgumentHelp("Only this room.", valueName: "name"))
    var room: String?

    @Flag(help: "Send failed messages again.")
    var retry = false

    @Flag(help: "Delete failed messages.")
    var discard = false

    func validate() throws {
        if let room, RoomName(room) == nil { throw ValidationError("--room: use 1 to 128 bytes without control characters.") }
        if retry, discard { throw ValidationError("--retry and --discard exclude each other.") }
    }

    func run() async throws {
        do throws(RoomStoreError) {
            guard FileManager.default.fileExists(atPath: store) else { throw .failed("\(store) does not exist") }
            let file = try SQLiteRoomStore(path: store)
            let outbox = StoredOutbox(store: file)
            var rows = try await outbox.rows(of: room.flatMap(RoomName.init))
            let unsettled = retry ? rows.count { $0.hasFailed && !$0.canBeRetried } : 0
            if retry { rows = try await outbox.retry(rows, at: WallClock.milliseconds) }
            if discard { rows = try await outbox.discard(rows) }
            for row in rows { StandardOutput.write(EntryLine.json(outbox: row) + "\n") }
            if unsettled > 0 {
                StandardOutput.warn("\(unsettled.counted("message")) not retried: only the hub knows whether it is stored; connect first")
            }
            try file.close()
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            throw Outcome.failed.code
        }
    }
}
