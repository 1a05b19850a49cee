import Holdfast
import NIOConcurrencyHelpers
import NIOCore

/// The channels of a server: bounded in number, and ended together.
final class ChannelRegistry: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        /// Those that are to be told that there are too many.
        var rejected: [ObjectIdentifier: any Channel] = [:]
        var connections: [ObjectIdentifier: WebSocketConnection] = [:]
        var isClosing = false
    }
    private let state = NIOLockedValueBox(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { state.withLockedValue(\.channels.count) }

    /// What becomes of a new channel.
    enum Welcome {
        case open
        /// There are too many: it is told so.
        case rejected
        /// There are too many even of those: it is closed without a word.
        case ignored
    }
    private static let rejectedCapacity = 256

    /// Adds a channel until it closes.
    func add(_ channel: any Channel) -> Welcome {
        let id = ObjectIdentifier(channel)
        let welcome = state.withLockedValue { state -> Welcome in
            if state.channels.count < capacity, !state.isClosing {
                state.channels[id] = channel
                return .open
            }
            guard state.rejected.count < Self.rejectedCapacity else { return .ignored }
            state.rejected[id] = channel
            return .rejected
        }
        if welcome == .ignored { return welcome }
        channel.closeFuture.whenComplete { [state] _ in
            state.withLockedValue { ($0.channels[id], $0.rejected[id]) = (nil, nil) }
        }
        return welcome
    }

    /// Counts a connection in for as long as `body` runs.
    func serving(_ connection: WebSocketConnection, _ body: () async -> Void) async {
        let id = ObjectIdentifier(connection.transport)
        let isClosing = state.withLockedValue { state in
            state.connections[id] = connection
            return state.isClosing
        }
        if isClosing { await connection.close(code: .goingAway, reason: CloseFrame.shutdown.reason) }
        await body()
        state.withLockedValue { $0.connections[id] = nil }
    }

    /// Says goodbye to every client (1001).
    func close() async {
        let connections = state.withLockedValue { state in
            state.isClosing = true
            return Array(state.connections.values)
        }
        await withDiscardingTaskGroup { group in
            for connection in connections {
                group.addTask { await connection.close(code: .goingAway, reason: CloseFrame.shutdown.reason) }
            }
        }
    }

    /// Drops whatever is left, such as clients that are still shaking hands.
    func drop() {
        for channel in state.withLockedValue({ Array($0.channels.values) + Array($0.rejected.values) }) { channel.close(promise: nil) }
    }
}

extension CloseFrame {
    static let shutdown = CloseFrame(.goingAway, reason: "the server shuts down")
}
