import Holdfast
import WebSocketRuntime
import WAMPCore

/// Answers the calls of a procedure.
typealias ProcedureHandler = @Sendable (WAMPArguments, Invocation) async throws -> WAMPArguments

/// A registered procedure; see ``WAMPClient/register(_:options:_:)``.
///
/// The registration survives lost connections. It lasts until ``unregister()`` is called, the client is closed, or the router refuses it
/// for good: then ``ended()`` returns, and the log contains the reason.
///
/// Releasing this value changes nothing.
public struct Registration: Sendable {
    let shell: WAMPShell
    let record: RegistrationRecord

    /// The procedure, or the pattern.
    public var uri: String { record.uri }
    /// Whether the procedure is currently registered at the router.
    public var isStanding: Bool { record.isStanding }

    /// Unregisters the procedure; running calls are still answered.
    public func unregister() { if let handle = record.handle { shell.giveUp(handle) } }

    /// Unregisters the procedure; returns when all running calls are answered, the connection is lost, or the task is cancelled.
    public func finish() async {
        unregister()
        await record.rested()
    }

    /// Waits until the registration has ended; returns the reason, or nil if the app ended it.
    ///
    /// Also returns when the task is cancelled.
    public func ended() async -> WAMPError? { await record.ended() }
}

/// The state of a registered procedure.
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

    var isStanding: Bool { state.withLockedValue({ $0.isStanding }) }

    var handle: ClientHandle? { state.withLockedValue({ $0.handle }) }

    func begin(_ handle: ClientHandle) { state.withLockedValue { $0.handle = handle } }

    /// Counts a handler that starts.
    func run() { state.withLockedValue { $0.running += 1 } }

    /// Counts a handler that has answered.
    func rest() { state.withLockedValue { $0.running -= 1 } }

    /// Waits until no handler is running.
    func rested() async { await changes.first { state.withLockedValue({ $0.running }) <= 0 ? () : nil } }

    func stand(_ isStanding: Bool) { state.withLockedValue { $0.isStanding = isStanding } }

    func end(_ error: WAMPError?) {
        state.withLockedValue { state in
            state.isStanding = false
            if state.end == nil { state.end = .some(error?.code == .closed ? nil : error) }
        }
    }

    func ended() async -> WAMPError? { await changes.first { state.withLockedValue({ $0.end }) } ?? nil }
}
