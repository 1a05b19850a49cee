import Holdfast
import HoldfastProtocols
public import RoomCore

/// The entries of a room: first those that are stored, then new ones as they arrive; see ``Room/messages``.
///
/// The sequence has no gap and no repeat, neither between stored and new entries nor across a lost connection. A slow reader does not
/// block others and needs no memory: it reads from the store.
///
/// The sequence ends when the room is left or the rooms are closed. It throws if the hub refuses the client, or if the store or the
/// connection fails for good.
public struct RoomMessages: AsyncSequence, Sendable {
    /// An entry, or a notice that the log was replaced.
    public typealias Element = RoomUpdate
    /// Why it ends.
    public typealias Failure = RoomsError
    let room: Room
    let position: LogPosition?

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: RoomReader(room, after: position)) }

    /// Iterates over the updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Why it ends.
        public typealias Failure = RoomsError
        let reader: RoomReader

        /// Waits for the next update; returns nil at the end, or when the task is cancelled.
        public mutating func next() async throws(RoomsError) -> RoomUpdate? { try await reader.next() }

        /// Waits for the next update; returns nil at the end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RoomsError) -> RoomUpdate? {
            try await reader.next()
        }
    }
}

/// One reader of a room; it is removed from the room when the last iterator is released.
final class RoomReader: Sendable {
    let room: Room
    private let number: UInt64
    private let changes: Changes

    init(_ room: Room, after position: LogPosition?) {
        self.room = room
        number = room.shell.addReader(room.name, after: position)
        changes = room.shell.access { view in view.observers[room.name]?.changes } ?? Changes()
    }

    deinit { room.shell.removeReader(room.name, number) }

    func next() async throws(RoomsError) -> RoomUpdate? {
        while !Task.isCancelled {
            let version = changes.version
            do throws(RoomsError) {
                switch try room.shell.step(room.name, number) {
                case .update(let update): return update
                case .read(let position, let generation):
                    if let update = try await room.shell.fill(room.name, number, after: position, generation: generation) { return update }
                case .wait: await changes.next(after: version)
                }
            } catch {
                switch error {
                case .closed, .left, .cancelled: return nil
                default: throw error
                }
            }
        }
        return nil
    }
}
