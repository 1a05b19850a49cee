import ArgumentParser
import Foundation
import HoldfastRooms
import RoomCore

struct RoomsOutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Print what waits in a store, and retry or discard what has failed.",
        discussion: """
            A line of JSON for each message that is not known to be stored: it waits, or it has failed, and why. It needs no hub, but nobody \
            else may have the store open. With --retry those that have failed wait again, and go out when the store is used for the next \
            time; with --discard they are forgotten. Then those are printed.

            EXAMPLE:
              holdfast rooms outbox --store ann --retry
              holdfast rooms send ws://localhost:9001/ --room lobby --name ann --store ann </dev/null

            \(Outcome.table)
            """)

    @Option(help: ArgumentHelp("The directory that was given to other commands.", valueName: "directory"))
    var store: String

    @Option(help: ArgumentHelp("Only this room.", valueName: "name"))
    var room: String?

    @Flag(help: "Send what has failed again.")
    var retry = false

    @Flag(help: "Forget what has failed.")
    var discard = false

    func validate() throws {
        if let room, RoomName(room) == nil { throw ValidationError("--room: use 1 to 128 bytes without control characters.") }
        if retry, discard { throw ValidationError("--retry and --discard exclude each other.") }
    }

    func run() async throws {
        do throws(RoomStoreError) {
            guard FileManager.default.fileExists(atPath: store) else { throw .failed("there is no \(store)") }
            let file = try SQLiteRoomStore(path: store)
            let outbox = StoredOutbox(store: file)
            var rows = try await outbox.rows(of: room.flatMap(RoomName.init))
            let unsettled = retry ? rows.count { $0.hasFailed && !$0.canBeRetried } : 0
            if retry { rows = try await outbox.retry(rows, at: Int64(Date().timeIntervalSince1970 * 1000)) }
            if discard { rows = try await outbox.discard(rows) }
            for row in rows { StandardOutput.write(EntryLine.json(outbox: row) + "\n") }
            if unsettled > 0 {
                StandardOutput.warn("\(unsettled.counted("message")) not retried: only a hub knows whether it is stored; connect first")
            }
            try file.close()
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            throw Outcome.failed.code
        }
    }
}
