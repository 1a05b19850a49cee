import Holdfast
import HoldfastProtocols
public import RoomCore

/// The entries of a room: those that are stored, then those that come; see ``Room/messages``.
///
/// There is no gap and no repeat, neither between what is stored and what comes, nor over any loss of the connection. A reader that is slow
/// holds back nobody and costs no memory: it reads from the store.
///
/// It ends when the room is left or the rooms are closed, and throws if the hub does not let us in, or the store or the connection fails
/// for good.
public struct RoomMessages: AsyncSequence, Sendable {
    /// An entry, or that it begins anew.
    public typealias Element = RoomUpdate
    let room: Room
    let position: LogPosition?

    /// Starts to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: RoomReader(room, after: position)) }

    /// Takes updates one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: RoomReader

        /// Waits for the next update; nil at the end, or when the task is cancelled.
        public mutating func next() async throws -> RoomUpdate? { try await reader.next() }
    }
}

/// One reader of a room: leaves it when nobody iterates any more.
final class RoomReader: Sendable {
    let room: Room
    private let number: UInt64
    private let changes: Changes

    init(_ room: Room, after position: LogPosition?) {
        self.room = room
        number = room.shell.addReader(room.name, after: position)
        changes = room.shell.access { view in view.books[room.name]?.changes } ?? Changes()
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
