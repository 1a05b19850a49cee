import ArgumentParser
import Foundation
import HoldfastRooms
import RoomCore

struct RoomsSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send messages, and wait until the hub has them on disk.",
        discussion: """
            Each text is a message; without any, each line of standard input. Prints a line of JSON for each: its id, whether it is \
            stored, and where. The status is 0 only if all are. With --store, what could not be sent in time waits in the file, and goes \
            out when the file is used again.

            EXAMPLE:
              holdfast rooms send ws://localhost:9001/ --room lobby --name ann 'hello'

            \(Outcome.table)
            """)

    @OptionGroup var options: RoomOptions

    @Argument(help: ArgumentHelp("What to send.", valueName: "text"))
    var texts: [String] = []

    @Option(help: ArgumentHelp("The type of the messages; all but \(ChatText.typeName) take JSON, not text.", valueName: "type"))
    var type = ChatText.typeName

    @Option(help: ArgumentHelp("How long to wait for each to be stored.", valueName: "seconds"))
    var timeout = Seconds(30)

    func validate() throws {
        guard 1...64 ~= type.utf8.count else { throw ValidationError("--type: use 1 to 64 bytes.") }
        if type != ChatText.typeName {
            for text in texts { _ = try payload(text) }
        }
    }

    func run() async throws {
        let rooms = try await options.rooms(environment: ProcessInfo.processInfo.environment)
        let outcome = await ending(rooms) { await send(in: rooms) }
        if outcome != .clean { throw outcome.code }
    }

    private func send(in rooms: Rooms) async -> Outcome {
        var outcome = Outcome.clean
        do throws(RoomsError) {
            let room = try await rooms.join(options.room, from: .now, presence: nil)
            // What an earlier run left behind goes first.
            let left = room.outbox.compactMap { room.receipt(for: $0.id) }
            var receipts: [Receipt] = []
            for await line in Lines(texts: texts) {
                switch line {
                case .invalid(let number):
                    StandardOutput.warn("line \(number) is not UTF-8")
                    outcome = .badInput
                case .text(let text):
                    guard let payload = try? payload(text) else {
                        StandardOutput.warn("\(text.escapedOnOneLine.prefix(80)) is no JSON")
                        outcome = .badInput
                        continue
                    }
                    receipts.append(try await room.send(type, payload))
                    // As many as the outbox takes with ease; the rest of the input waits.
                    if receipts.count >= 500 {
                        outcome = await report(receipts, outcome, rooms)
                        receipts = []
                    }
                }
            }
            return await report(left + receipts, outcome, rooms)
        } catch {
            StandardOutput.write(EntryLine.json(failed: nil, in: RoomName(options.room) ?? .none, error) + "\n")
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return Outcome(error)
        }
    }

    private func report(_ receipts: [Receipt], _ outcome: Outcome, _ rooms: Rooms) async -> Outcome {
        var outcome = outcome
        for receipt in receipts {
            do throws(RoomsError) {
                let position = try await receipt.stored(within: timeout.duration)
                StandardOutput.write(EntryLine.json(stored: receipt.id, at: position, in: receipt.room) + "\n")
            } catch {
                let cause = cause(of: error, in: rooms)
                StandardOutput.write(EntryLine.json(failed: receipt.id, in: receipt.room, cause) + "\n")
                outcome = Outcome(cause)
            }
        }
        return outcome
    }

    /// Who waits when the rooms end is cancelled with them; what ended them says more.
    private func cause(of error: RoomsError, in rooms: Rooms) -> RoomsError {
        if case .cancelled = error, case .closed(let end?) = rooms.state { end } else { error }
    }

    private func payload(_ text: String) throws -> RoomCore.Payload {
        if type == ChatText.typeName { return .json([UInt8](try JSONEncoder().encode(ChatText(text)))) }
        guard JSONLayout.pretty(text) != nil else { throw ValidationError("\(text.escapedOnOneLine.prefix(80)) is no JSON; see --type.") }
        return .json(Array(text.utf8))
    }
}

extension RoomName {
    /// The name of a room that could not be joined.
    fileprivate static var none: RoomName { RoomName("?").unsafelyUnwrapped }
}
