import Holdfast
import HoldfastProtocols
public import RoomCore

/// What one who follows a room takes next.
public enum RoomUpdate: Hashable, Sendable {
    /// The next entry, in order.
    case entry(Entry)
    /// What came before no longer joins what follows: forget it, the stored part of the room begins anew and ends at this place.
    ///
    /// It happens after a long absence, when the room's log was lost, and to a reader that was slower than what the store keeps.
    case replaced(LogPosition)

    /// The entry, if it is one.
    public var entry: Entry? { if case .entry(let entry) = self { entry } else { nil } }
}

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
        (number, changes) = room.shell.addReader(room.name, after: position)
    }

    deinit { room.shell.removeReader(room.name, number) }

    func next() async throws(RoomsError) -> RoomUpdate? {
        while !Task.isCancelled {
            switch room.shell.step(room.name, number, changes) {
            case .update(let update): return update
            case .read(let position, let generation):
                do throws(RoomsError) {
                    if let update = try await room.shell.fill(room.name, number, after: position, generation: generation) {
                        return update
                    }
                } catch {
                    if case .cancelled = error { return nil }
                    throw error
                }
            case .wait(let version): await changes.next(after: version)
            case .end(.closed), .end(.left): return nil
            case .end(let error): throw error
            }
        }
        return nil
    }
}
