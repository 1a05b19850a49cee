import Holdfast
import MachineCore
import StreamCore
import WebSocketRuntime
import WAMPCore

/// Where parts of one call wait for their one consumer: of its result with the caller, of its input with the callee.
final class CallMailbox: Sendable {
    /// Who has more input for the call waits here: for the session, or the end.
    let changes = Changes()
    private let parts: Mailbox<ValuesAndNotes<WAMPArguments, WAMPArguments>, WAMPError>

    init(_ time: LinkTime) { parts = Mailbox(ValuesAndNotes(capacity: 4096, .refuse), time: time) }

    /// Adds a part; true if there was no room for it, which the last part always has.
    func push(_ arguments: WAMPArguments, isFinal: Bool) -> Bool { parts.push(isFinal ? .note(arguments) : .value(arguments)) }

    /// How it ended; nil while more may come.
    var end: Result<Void, WAMPError>? { parts.end }

    /// No more comes.
    func finish(_ end: Result<Void, WAMPError>) {
        parts.finish(end)
        changes.announce()
    }

    /// Waits for the next part; nil after the last, or when the task is cancelled.
    func next() async throws(WAMPError) -> (arguments: WAMPArguments, isFinal: Bool)? {
        switch try await parts.next() {
        case .value(let arguments)?: (arguments, false)
        case .note(let arguments)?: (arguments, true)
        case .dropped?, nil: nil
        }
    }
}
