import Holdfast
import WebSocketRuntime
import WebSocketApple

/// A system's WebSocket that does what the test says, and nothing else.
final class ScriptedSocket: SystemSocket {
    enum Asked: Equatable {
        case receive, ping, abort
        case send(Message)
        case close(Int, String)
    }
    private struct State {
        var handle: (@Sendable (SystemEvent) -> Void)?
        var takers: [@Sendable (Result<Message, SystemFailure>) -> Void] = []
        var pongs: [@Sendable (SystemFailure?) -> Void] = []
    }
    private let state = LockedValue(State())
    /// What was asked of it, in order.
    let asked: AsyncStream<Asked>
    private let ask: AsyncStream<Asked>.Continuation

    init() { (asked, ask) = AsyncStream.makeStream() }

    func start(_ handle: @escaping @Sendable (SystemEvent) -> Void) { state.withLockedValue { $0.handle = handle } }

    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void) {
        state.withLockedValue { $0.takers.append(take) }
        ask.yield(.receive)
    }

    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void) {
        ask.yield(.send(message))
        done(nil)
    }

    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void) {
        state.withLockedValue { $0.pongs.append(done) }
        ask.yield(.ping)
    }

    func close(code: Int, reason: [UInt8]) { ask.yield(.close(code, String(decoding: reason, as: UTF8.self))) }
    func abort() { ask.yield(.abort) }

    /// The system tells something.
    func notify(_ event: SystemEvent) { state.withLockedValue(\.handle)?(event) }

    /// The system has a message, or none ever again, for whoever asked first; false if nobody did.
    @discardableResult func give(_ result: Result<Message, SystemFailure>) -> Bool {
        let taker = state.withLockedValue { $0.takers.isEmpty ? nil : $0.takers.removeFirst() }
        taker?(result)
        return taker != nil
    }

    /// The system calls back for the last ping, or for an earlier one.
    func pong(_ failure: SystemFailure? = nil, of number: Int? = nil) {
        state.withLockedValue { state in number.map { state.pongs[$0] } ?? state.pongs.last }?(failure)
    }
}
