import DequeModule
import RoomCore

/// What clients have said and the machine has not been told yet: a line for each client, and clients take turns.
///
/// So whoever says very much at once holds up mostly itself. It has a bound, for no more is read of a client that waits for long, see
/// ``HubConfiguration/Lanes/unheard``.
struct InputBacklog {
    /// One input of a client, and what it costs until the machine has been told.
    struct Saying: Sendable {
        var input: HubInput
        var id: ConnectionID
        var cost = 0
    }

    /// So many of one client go in a row.
    static let inARow = 8

    private var lines: [ConnectionID: Deque<Saying>] = [:]
    /// Those who have a line; the first is next.
    private var turns: Deque<ConnectionID> = []

    var isEmpty: Bool { turns.isEmpty }

    mutating func add(_ sayings: [Saying]) {
        for saying in sayings {
            if lines[saying.id]?.append(saying) == nil {
                lines[saying.id] = [saying]
                turns.append(saying.id)
            }
        }
    }

    /// What is next of the one whose turn it is; what one client says keeps its order.
    mutating func next() -> [Saying] {
        guard let id = turns.popFirst(), var line = lines.removeValue(forKey: id) else { return [] }
        let sayings = Array(line.prefix(Self.inARow))
        line.removeFirst(sayings.count)
        if !line.isEmpty {
            lines[id] = line
            turns.append(id)
        }
        return sayings
    }
}
