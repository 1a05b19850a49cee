import Holdfast
import WebSocketRuntime
import WebSocketApple

/// A system WebSocket that does only what the test says.
final class ScriptedSocket: SystemSocket {
    enum Call: Equatable {
        case receive, ping, abort
        case send(Message)
        case close(Int, String)
    }
    private struct State {
        var handle: (@Sendable (SystemEvent) -> Void)?
        var receivers: [@Sendable (Result<Message, SystemFailure>) -> Void] = []
        var pongs: [@Sendable (SystemFailure?) -> Void] = []
    }
    private let state = LockedValue(State())
    /// The calls that the transport made, in order.
    let calls: AsyncStream<Call>
    private let call: AsyncStream<Call>.Continuation

    init() { (calls, call) = AsyncStream.makeStream() }

    func start(_ handle: @escaping @Sendable (SystemEvent) -> Void) { state.withLockedValue { $0.handle = handle } }

    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void) {
        state.withLockedValue { $0.receivers.append(take) }
        call.yield(.receive)
    }

    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void) {
        call.yield(.send(message))
        done(nil)
    }

    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void) {
        state.withLockedValue { $0.pongs.append(done) }
        call.yield(.ping)
    }

    func close(code: Int, reason: [UInt8]) { call.yield(.close(code, String(decoding: reason, as: UTF8.self))) }
    func abort() { call.yield(.abort) }

    /// Reports an event of the system.
    func notify(_ event: SystemEvent) { state.withLockedValue(\.handle)?(event) }

    /// Delivers a message or a failure to the oldest receive call; returns false if there is none.
    @discardableResult func deliver(_ result: Result<Message, SystemFailure>) -> Bool {
        let receiver = state.withLockedValue { $0.receivers.isEmpty ? nil : $0.receivers.removeFirst() }
        receiver?(result)
        return receiver != nil
    }

    /// Completes the last ping, or the one with this number.
    func pong(_ failure: SystemFailure? = nil, of number: Int? = nil) {
        state.withLockedValue { state in number.map { state.pongs[$0] } ?? state.pongs.last }?(failure)
    }
}
