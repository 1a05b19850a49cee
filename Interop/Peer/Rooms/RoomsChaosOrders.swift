import Foundation
import WebSocketRuntime

/// What the script that starts a client tells it on its standard input.
final class RoomsChaosOrders: Sendable {
    private struct State {
        var isDraining = false
        /// How far each room goes, once it is known.
        var heads: [String: Int64]?
        /// Who is present in truth.
        var present: Set<String> = []
        var isOver = false
    }
    private let state = LockedValue(State())

    /// Begins to read; the end of the input ends the program, for then the script is gone.
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

    /// Whether nothing more is to be said.
    var isDraining: Bool { state.withLockedValue(\.isDraining) }

    /// How far each room goes, once nobody says anything more.
    var heads: [String: Int64]? { state.withLockedValue(\.heads) }

    /// Who is present in truth.
    var present: Set<String> { state.withLockedValue(\.present) }

    /// Whether all have everything, and may go.
    var isOver: Bool { state.withLockedValue(\.isOver) }
}
