import ArgumentParser
import Foundation
import HoldfastRooms

struct RoomsSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send messages, and wait until the hub has them on disk.",
        discussion: """
            Each text is a message; without any, each line of standard input. Prints a line of JSON for each, in order: its id, whether it \
            is stored, and where. The status is 0 only if all are. With --store, what could not be sent in time waits there, and goes out \
            first with the next run; what the hub refused for good stays there, see 'holdfast rooms outbox'.

            EXAMPLE:
              holdfast rooms send ws://localhost:9001/ --room lobby --name ann 'hello'

            \(Outcome.table)
            """)

    @OptionGroup var options: RoomOptions

    @Argument(help: ArgumentHelp("What to send.", valueName: "text"))
    var texts: [String] = []

    @Option(help: ArgumentHelp("The type of the messages; all but \(ChatText.typeName) take JSON, not text.", valueName: "type"))
    var type = ChatText.typeName

    @Option(help: ArgumentHelp("How long to wait for each to be stored, after the one before it.", valueName: "seconds"))
    var timeout = Seconds(30)

    func validate() throws {
        guard 1...64 ~= type.utf8.count else { throw ValidationError("--type: use 1 to 64 bytes.") }
        if type != ChatText.typeName {
            for text in texts where JSONLayout.pretty(text) == nil {
                throw ValidationError("\(text.escapedOnOneLine.prefix(80)) is no JSON; see --type.")
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
            tell(.failed(nil, error))
            return Outcome(error)
        }
        let failed = room.outbox.filter(\.stage.isFailed)
        if !failed.isEmpty {
            StandardOutput.warn("\(failed.count.counted("message")) of earlier runs failed: see 'holdfast rooms outbox'")
        }
        // What an earlier run left behind goes first.
        let left = room.outbox.filter { !$0.stage.isFailed }.compactMap { room.receipt(for: $0.id) }
        let sender = LineSender(rooms: rooms, patience: timeout.duration) { text throws(RoomsError) in
            if type == ChatText.typeName { return try await room.send(ChatText(text)) }
            guard JSONLayout.pretty(text) != nil else { return nil }
            return try await room.send(type, .json(Array(text.utf8)))
        }
        return await sender.send(Lines(texts: texts), after: left, tell: tell).outcome
    }

    private func tell(_ fate: LineSender.Fate) {
        switch fate {
        case .stored(let id, let position): StandardOutput.write(EntryLine.json(stored: id, at: position, in: options.room) + "\n")
        case .failed(let id, let error): StandardOutput.write(EntryLine.json(failed: id, in: options.room, error) + "\n")
        case .unfit(let reason): StandardOutput.warn(reason)
        }
    }
}
