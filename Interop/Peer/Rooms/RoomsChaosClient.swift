import Foundation
import HoldfastRooms
import MachineCore
import RoomCore
import RoomHistory

/// An app that sends messages in rooms and writes its history.
///
/// It is killed at times, and continues with its store.
///
/// On the order to drain it sends no more, and prints `drained` when its outbox is empty.
///
/// On the order with presence and heads it waits until it has all entries and sees all members, and prints `complete`.
/// On the order to finish it writes its store to the history, and ends.
struct RoomsChaosClient {
    let url: String
    let name: String
    let rooms: [String]
    let directory: String
    let history: String
    /// The mean time between two messages.
    let pause: Duration

    /// The number of entries of a room that the store keeps.
    ///
    /// A long run has more.
    private static let limit: Int64 = 2000

    func run() async throws {
        let isNew = !FileManager.default.fileExists(atPath: directory)
        let file = try HistoryFile(history, who: name)
        if !isNew { await file.note(.started) }
        let orders = RoomsChaosOrders()
        let store = try SQLiteRoomStore(path: directory, entriesPerRoom: Int(Self.limit))
        let token = "dev:\(name)"
        let client = Rooms(url, store: store, token: { token }) { socket in
            (socket.reconnect.backoff.base, socket.reconnect.backoff.cap) = (.milliseconds(50), .seconds(1))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var followers: [RoomsChaosFollower] = []
            for name in rooms {
                guard let roomName = RoomName(name) else { continue }
                let stored = try await store.room(roomName)
                let cursor = stored.cursor
                await file.note(.opened, room: name) { event in
                    (event.epoch, event.seq) = (Hexadecimal.digits(cursor.epoch), cursor.seq)
                    (event.count, event.limit) = (cursor.seq - stored.first + 1, Self.limit)
                }
                let room = try await client.join(name, from: .beginning)
                let follower = RoomsChaosFollower(room, after: cursor, file)
                followers.append(follower)
                group.addTask { try await follower.run() }
                for message in room.outbox {
                    guard let receipt = room.receipt(for: message.id) else { continue }
                    group.addTask { await watch(receipt, file) }
                }
            }
            try await talk(in: followers.map(\.room), file, orders, &group)
            // The script that started this program limits the time.
            for follower in followers { try await wait { !follower.room.outbox.contains { $0.stage.isOpen } } }
            try say("drained")
            try await wait { orders.heads != nil }
            for follower in followers {
                let head = orders.heads?[follower.room.name.text] ?? 0
                while await follower.seq < head { try await Task.sleep(for: .milliseconds(20)) }
                try await wait { Set(follower.room.members.map(\.user.text)) == orders.present }
            }
            try say("complete")
            try await wait { orders.isOver }
            for follower in followers { try await dump(follower.room, store, file) }
            group.cancelAll()
        }
        await client.close()
    }

    private func say(_ word: String) throws { try FileHandle.standardOutput.write(contentsOf: Data("\(word)\n".utf8)) }

    /// Submits messages until the order to drain.
    private func talk(
        in rooms: [Room], _ file: HistoryFile, _ orders: RoomsChaosOrders, _ group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws {
        var random = SystemRandomNumberGenerator()
        var number = 0
        while true {
            for room in rooms {
                if orders.isDraining { return }
                number += 1
                let id = MessageID(at: Int64(Date().timeIntervalSince1970 * 1000), using: &random)
                let text = Array("{\"text\":\"\(name) says \(number) at \(id)\"}".utf8)
                await file.note(.submitted, room: room.name.text) { ($0.id, $0.digest) = ("\(id)", HistoryDigest.of(text)) }
                do throws(RoomsError) {
                    let receipt = try await room.send("chat.text", .json(text), id: id)
                    await file.note(.queued, room: room.name.text) { $0.id = "\(id)" }
                    group.addTask { await watch(receipt, file) }
                } catch {
                    // The outbox is full while the hub is away, so the message does not count.
                    await file.note(.refused, room: room.name.text) { ($0.id, $0.text) = ("\(id)", "\(error)") }
                }
                try await Task.sleep(for: pause * Double.random(in: 0...2))
            }
        }
    }

    /// Writes the outcome of a message to the history.
    private func watch(_ receipt: Receipt, _ file: HistoryFile) async {
        for await stage in receipt.stages {
            switch stage {
            case .stored(let position), .seen(let position, _):
                return await file.note(.acked, room: receipt.room.text) { event in
                    (event.id, event.epoch, event.seq) = ("\(receipt.id)", Hexadecimal.digits(position.epoch), position.seq)
                }
            case .failed(let failure):
                return await file.note(.failed, room: receipt.room.text) { event in
                    (event.id, event.text, event.isUncertain) = ("\(receipt.id)", failure.text, failure == .uncertain)
                }
            case .discarded: return await file.note(.discarded, room: receipt.room.text) { $0.id = "\(receipt.id)" }
            case .submitted, .queued, .sent: break
            }
        }
    }

    /// Writes the stored entries to the history.
    private func dump(_ room: Room, _ store: SQLiteRoomStore, _ file: HistoryFile) async throws {
        let stored = try await store.room(room.name)
        var entries: [Entry] = []
        var before: Int64?
        while true {
            let page = try await store.entries(room.name, before: before, limit: 500)
            entries = page + entries
            guard let first = page.first else { break }
            before = first.seq
        }
        let (items, epoch) = (entries.map { HistoryItem($0) }, Hexadecimal.digits(stored.cursor.epoch))
        let waiting = stored.outbox.filter { $0.state == .queued }.map { "\($0.publication.id)" }
        await file.note(.store, room: room.name.text) { event in
            (event.epoch, event.seq, event.items, event.limit) = (epoch, stored.cursor.seq, items, Self.limit)
        }
        await file.note(.outbox, room: room.name.text) { $0.names = waiting }
    }

    private func wait(until condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(20)) }
    }
}

extension DeliveryStage {
    /// Whether the message has no outcome yet.
    fileprivate var isOpen: Bool {
        switch self {
        case .submitted, .queued, .sent: true
        case .stored, .seen, .failed, .discarded: false
        }
    }
}
