import Foundation
import WebSocketRuntime

/// The orders of the script that started a client, from standard input.
final class RoomsChaosOrders: Sendable {
    private struct State {
        var isDraining = false
        /// The head of each room, once it is known.
        var heads: [String: Int64]?
        /// The members that are really present.
        var present: Set<String> = []
        var isOver = false
    }
    private let state = LockedValue(State())

    /// Starts to read.
    ///
    /// The end of the input ends the program, because the script is gone.
    init() {
        let state = state
        Thread.detachNewThread {
            while let line = readLine() {
                let words = line.split(separator: " ")
                switch words.first {
                case "drain": state.withLockedValue { $0.isDraining = true }
                case "present": state.withLockedValue { $0.present = Set(words.dropFirst().map(String.init)) }
                case "finish": state.withLockedValue { $0.isOver = true }
                case "heads":
                    let heads = words.dropFirst().compactMap { word -> (String, Int64)? in
                        let parts = word.split(separator: "=")
                        guard parts.count == 2, let seq = Int64(parts[1]) else { return nil }
                        return (String(parts[0]), seq)
                    }
                    state.withLockedValue { $0.heads = Dictionary(heads, uniquingKeysWith: max) }
                default: break
                }
            }
            exit(3)
        }
    }

    /// Whether the client must send no more.
    var isDraining: Bool { state.withLockedValue(\.isDraining) }

    /// The head of each room, once no client sends any more.
    var heads: [String: Int64]? { state.withLockedValue(\.heads) }

    /// The members that are really present.
    var present: Set<String> { state.withLockedValue(\.present) }

    /// Whether all clients have everything, and may end.
    var isOver: Bool { state.withLockedValue(\.isOver) }
}
