public import Holdfast
public import Observation

#if canImport(SwiftUI)
    import SwiftUI
#endif

/// The state of a `WebSocket` for views: updates on the main actor, and counts down the seconds to the next attempt.
///
/// ```swift
/// @State private var connection = ConnectionModel(socket)
/// var body: some View { ConnectionBadge(connection) }
/// ```
/// It keeps the socket alive as long as it exists.
@MainActor @Observable public final class ConnectionModel {
    /// The status to show.
    public private(set) var status = ConnectionStatus.connecting
    @ObservationIgnored private var following: Task<Void, Never>?

    /// Creates a model that follows a socket until the socket ends or the model is released.
    public convenience init(_ socket: WebSocket) {
        self.init(socket.states, now: { .now }) { try await ContinuousClock().sleep(until: $0) }
    }

    init<States: AsyncSequence & Sendable>(
        _ states: States, now: @escaping @Sendable () -> ContinuousClock.Instant,
        sleep: @escaping @Sendable (_ until: ContinuousClock.Instant) async throws -> Void
    ) where States.Element == WebSocketState {
        // SAFETY: cancelled with the model, and holds it weakly.
        following = Task { [weak self] in
            var countdown: Task<Void, Never>?
            // The sequences used here do not throw, but a generic constraint can express that only from iOS 18 on.
            do {
                for try await state in states {
                    countdown?.cancel()
                    // SAFETY: cancelled by the next state and at the end.
                    countdown = Task { [weak self] in
                        while !Task.isCancelled {
                            let present = now()
                            self?.show(ConnectionStatus(state, at: present))
                            guard let next = ConnectionStatus.nextChange(of: state, after: present), (try? await sleep(next)) != nil else {
                                return
                            }
                        }
                    }
                    if self == nil { break }
                }
            } catch {}
            // The last status stays.
            if self == nil { countdown?.cancel() }
        }
    }

    deinit { following?.cancel() }

    private func show(_ status: ConnectionStatus) {
        if self.status != status { self.status = status }
    }
}

extension ConnectionStatus {
    /// Creates the status to show for a state at the moment `now`.
    public init(_ state: WebSocketState, at now: ContinuousClock.Instant) {
        switch state {
        case .connecting: self = .connecting
        case .connected: self = .connected
        case .waiting(let until, _):
            let left = now.duration(to: until)
            // Rounds up, so the countdown ends with 1 and never shows 0.
            let seconds = left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0)
            self = .reconnecting(seconds: max(1, Int(clamping: seconds)))
        case .disconnected, .held: self = .offline
        case .closing: self = .closed(isFailure: false)
        case .closed(let error): self = .closed(isFailure: error != nil)
        }
    }

    /// Returns when the status of this state changes without a new state; nil if it does not.
    static func nextChange(of state: WebSocketState, after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard case .waiting(let until, _) = state, case .reconnecting(let seconds) = Self(state, at: now), seconds > 1 else { return nil }
        return until - .seconds(seconds - 1)
    }
}

#if canImport(SwiftUI)
    extension ConnectionBadge {
        /// Creates a badge that follows a model.
        @MainActor public init(_ model: ConnectionModel) { self.init(model.status) }
    }
#endif
