import Holdfast
import WebSocketRuntime
import WAMPCore

/// Answers calls of a procedure.
typealias ProcedureHandler = @Sendable (WAMPArguments, Invocation) async throws -> WAMPArguments

/// A procedure that is offered; see ``WAMPClient/register(_:options:_:)``.
///
/// It stays so, over losses of the connection, until ``unregister()`` is called, the client is closed, or the router refuses it for good:
/// ``ended()`` returns then, and the log says why.
/// Releasing this changes nothing.
public struct Registration: Sendable {
    let shell: WAMPShell
    let record: RegistrationRecord

    /// The procedure, or the pattern.
    public var uri: String { record.uri }
    /// Whether the router calls it at present.
    public var isStanding: Bool { record.isStanding }

    /// Offers it no longer; calls that run are answered still.
    public func unregister() { if let handle = record.handle { shell.giveUp(handle) } }

    /// Offers it no longer, and returns when the calls that run are answered, or the connection is lost, or the task is cancelled.
    public func finish() async {
        unregister()
        await record.rested()
    }

    /// Waits until it is offered no longer; nil if the app ended it, otherwise why.
    ///
    /// Also returns when the task is cancelled.
    public func ended() async -> WAMPError? { await record.ended() }
}

/// How it stands with a procedure that is offered.
final class RegistrationRecord: Sendable {
    private struct State {
        var handle: ClientHandle?
        var isStanding = false
        var running = 0
        var end: WAMPError??
    }
    let uri: String
    let changes = Changes()
    private let state = LockedValue(State())

    init(_ uri: String) { self.uri = uri }

    var isStanding: Bool { state.withLockedValue(\.isStanding) }

    var handle: ClientHandle? { state.withLockedValue(\.handle) }

    func begin(_ handle: ClientHandle) { state.withLockedValue { $0.handle = handle } }

    /// One more handler runs.
    func run() { state.withLockedValue { $0.running += 1 } }

    /// A handler has answered.
    func rest() { state.withLockedValue { $0.running -= 1 } }

    /// Waits until no handler runs.
    func rested() async { await changes.first { state.withLockedValue(\.running) <= 0 ? () : nil } }

    func stand(_ isStanding: Bool) { state.withLockedValue { $0.isStanding = isStanding } }

    func end(_ error: WAMPError?) {
        state.withLockedValue { state in
            state.isStanding = false
            if state.end == nil { state.end = .some(error?.code == .closed ? nil : error) }
        }
    }

    func ended() async -> WAMPError? { await changes.first { state.withLockedValue(\.end) } ?? nil }
}
