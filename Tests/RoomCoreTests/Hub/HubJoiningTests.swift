import MachineCore
import RoomCore
import Testing

/// "Joining and resuming".
@Suite struct HubJoiningTests {
    private var stage = HubStage()

    /// A room with `count` entries of bob that the hub does not have in memory.
    private mutating func fill(_ count: Int64) {
        let bob = stage.member("bob", device: 99)
        for first in stride(from: 1, through: count, by: 1000) {
            stage.publish(bob, first...min(first + 999, count))
            stage.pass(.seconds(10))
        }
        stage.give(.gone(bob))
        stage.pass(.seconds(61))
        #expect(stage.hub.figures.rooms == 0)
    }

    private mutating func state(of id: ConnectionID, epoch: UInt64? = nil, seq: Int64, limit: Int64 = 0) throws -> HubFrame.RoomState {
        let epoch = epoch ?? stage.log.rooms[.lobby]?.epoch ?? 0
        stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: epoch, seq: seq), limit: limit)))
        return try #require(stage.takeFrames(id).states.last)
    }

    // MARK: Answers to a cursor

    @Test(arguments: [false, true]) mutating func `a client that missed entries gets those`(isInMemory: Bool) throws {
        if isInMemory { stage.publish(stage.member("bob", device: 99), 1...20) } else { fill(20) }
        let id = stage.client("ann")
        let state = try state(of: id, seq: 12)
        #expect(!state.isSnapshot && !state.hasMore && state.from == 13 && state.to == 20 && state.head == 20 && state.base == 1)
        #expect(state.items.map(\.seq) == Array(13...20) && state.rights == .member)
    }

    @Test mutating func `a client that missed nothing gets no entries`() throws {
        fill(5)
        let id = stage.client("ann")
        let state = try state(of: id, seq: 5)
        #expect(!state.isSnapshot && !state.hasMore && state.items.isEmpty && state.from == 6 && state.to == 5)
    }

    @Test(arguments: [false, true]) mutating func `a client behind by more than its limit gets the last entries`(isInMemory: Bool) throws {
        if isInMemory { stage.publish(stage.member("bob", device: 99), 1...20) } else { fill(20) }
        let id = stage.client("ann")
        let state = try state(of: id, seq: 12, limit: 7)
        #expect(state.isSnapshot && !state.hasMore && state.items.map(\.seq) == Array(14...20))
        #expect(try !self.state(of: id, seq: 13, limit: 7).isSnapshot)
    }

    @Test mutating func `a client with a cursor of another epoch gets the last entries`() throws {
        fill(5)
        let id = stage.client("ann")
        let state = try state(of: id, epoch: 77, seq: 3)
        #expect(state.isSnapshot && state.items.map(\.seq) == [1, 2, 3, 4, 5] && state.epoch == stage.log.rooms[.lobby]?.epoch)
    }

    @Test mutating func `a new client that wants the last few entries gets those`() throws {
        fill(9)
        let id = stage.client("ann")
        let state = try state(of: id, epoch: 0, seq: -3)
        #expect(state.isSnapshot && state.items.map(\.seq) == [7, 8, 9])
        #expect(try self.state(of: id, epoch: 0, seq: .min).items.count == 9)
    }

    @Test mutating func `a client whose next entry was removed by retention gets the last entries`() throws {
        fill(9)
        _ = stage.log.trim(.lobby, to: 4)
        let id = stage.client("ann")
        let late = try state(of: id, seq: 4)
        #expect(late.isSnapshot && late.items.map(\.seq) == [6, 7, 8, 9] && late.base == 6)
        let just = try state(of: id, seq: 5)
        #expect(!just.isSnapshot && just.items.map(\.seq) == [6, 7, 8, 9])
    }

    @Test mutating func `a join of an empty log is answered, too`() throws {
        let id = stage.client("ann")
        stage.handle(id, .join(.init(room: .lobby)))
        let state = try #require(stage.takeFrames(id).states.first)
        #expect(state.isSnapshot && state.items.isEmpty && state.from == 1 && state.to == 0 && state.head == 0 && state.epoch != 0)
    }

    @Test mutating func `a client whose cursor is beyond the log's end gets the entries that exist`() throws {
        fill(5)
        let state = try state(of: stage.client("ann"), seq: 6)
        #expect(state.isSnapshot && state.items.map(\.seq) == Array(1...5) && state.to == 5 && !state.hasMore)
    }

    @Test mutating func `a client that was away long gets pages, and then live entries`() throws {
        fill(1201)
        let id = stage.client("ann")
        let first = try state(of: id, seq: 100)
        #expect(first.hasMore && !first.isSnapshot && first.items.map(\.seq) == Array(101...600))
        stage.publish(stage.member("eve", device: 5), 1...1)
        #expect(stage.takeFrames(id).entries.isEmpty)
        let second = try state(of: id, seq: 600)
        #expect(second.hasMore && second.items.map(\.seq) == Array(601...1100))
        let third = try state(of: id, seq: 1100)
        #expect(!third.hasMore && third.items.map(\.seq) == Array(1101...1202))
        stage.publish(stage.client("ann", device: 6), 1...1)
        stage.publish(stage.member("eve", device: 7), 1...1)
        #expect(stage.takeFrames(id).entries == [1203])
    }

    @Test mutating func `a page is limited in bytes, but has at least one entry`() throws {
        var policy = HubPolicy()
        (policy.pageBytes, policy.tailBytes, policy.tailEntries) = (1000, 1 << 20, 100)
        stage = HubStage(policy)
        stage.publish(stage.member("bob", device: 99), 1...5)
        let id = stage.client("ann")
        #expect(try state(of: id, seq: 0).items.map(\.seq) == [1, 2])
    }

    // MARK: Rights

    @Test mutating func `a client without the read right gets no entries, and may publish`() {
        fill(3)
        stage.grants = [Grant("lob*", [.write])]
        let ann = stage.client("ann")
        stage.handle(ann, .join(.init(room: .lobby)))
        let state = stage.takeFrames(ann).states.first
        #expect(state?.items == [] && state?.head == 3 && state?.hasMore == false && state?.reads == [])
        stage.publish(ann, 1...1)
        let received = stage.takeFrames(ann)
        #expect(received.acks.map(\.seq) == [4] && received.entries.isEmpty)
        stage.handle(ann, .history(.init(reference: 1, room: .lobby, before: 4, limit: 9)))
        #expect(stage.takeFrames(ann).codes == [.rights])
    }

    @Test mutating func `a client without rights is refused`() {
        stage.grants = [Grant("lobby", .member)]
        let id = stage.client("ann")
        stage.handle(id, .join(.init(room: RoomName("lobby2")!)))
        #expect(stage.takeFrames(id).codes == [.rights] && stage.hub.figures.rooms == 0)
    }

    // MARK: A device's earlier publications

    @Test mutating func `a state gives the highest number that the log has of the device`() throws {
        let ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...3)
        stage.give(.gone(ann))
        let again = stage.client("ann", device: 1)
        let state = try state(of: again, seq: 3)
        #expect(state.high == 3 && state.highID == .numbered(3))
        let bob = stage.client("bob", device: 2)
        let other = try self.state(of: bob, seq: 3)
        #expect(other.high == 0)
    }

    @Test mutating func `a publication that is being written counts for a new connection`() throws {
        let ann = stage.member("ann", device: 1)
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        let again = stage.client("ann", device: 1)
        stage.handle(again, .join(.init(room: .lobby)))
        stage.answer()
        let state = try #require(stage.takeFrames(again).states.first)
        #expect(state.high == 2 && state.items.map(\.seq) == [1, 2])
        // The same publication, sent again, gets the same answer.
        stage.publish(again, 1...2)
        stage.answer()
        #expect(stage.takeFrames(again).acks.map(\.seq).sorted() == [1, 2])
        #expect(stage.log.rooms[.lobby]?.head == 2)
    }

    // MARK: No gaps and no repeats

    @Test(arguments: 0...4) mutating func `entries appended while the log is read are sent once`(answered: Int) throws {
        fill(100)
        let bob = stage.member("bob", device: 99)
        stage.holdsLog = true
        stage.publish(bob, 101...101)
        let id = stage.client("ann")
        stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 90))))
        for cseq in 102...104 as ClosedRange<Int64> {
            stage.answer(answered)
            stage.publish(bob, cseq...cseq)
        }
        stage.answer()
        let received = stage.takeFrames(id)
        #expect(received.states.count == 1)
        #expect(received.states[0].items.map(\.seq) + received.entries == Array(91...104))
    }

    @Test mutating func `entries that were read before their append was confirmed are not sent yet`() {
        fill(100)
        let bob = stage.member("bob", device: 99)
        stage.holdsLog = true
        stage.publish(bob, 101...101)
        let id = stage.client("ann")
        stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 90))))
        let (append, recall) = (stage.orders[0], stage.orders[1])
        let (appended, recalled) = (stage.log.carryOut(append)!, stage.log.carryOut(recall)!)
        stage.give(.log(recalled))
        let fetched = stage.log.carryOut(stage.orders[2])!
        stage.orders = []
        stage.give(.log(fetched))
        #expect(stage.takeFrames(id).states.first?.items.map(\.seq) == Array(91...100))
        stage.give(.log(appended))
        #expect(stage.takeFrames(id).entries == [101])
    }

    @Test mutating func `entries dropped from memory while the log was read are read again`() throws {
        fill(10)
        let bob = stage.member("bob", device: 99)
        stage.holdsLog = true
        let id = stage.client("ann")
        stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 5))))
        stage.answer(1)
        let order = stage.orders.removeFirst()
        let fetch = stage.log.carryOut(order)!
        for first in stride(from: 11, to: 331, by: 32) as StrideTo<Int64> {
            stage.publish(bob, first...first + 31)
            stage.answer()
        }
        stage.give(.log(fetch))
        let state = try #require(stage.takeFrames(id).states.first)
        #expect(state.hasMore && state.items.map(\.seq) == Array(6...10))
        stage.holdsLog = false
        stage.publish(bob, 331...331)
        #expect(stage.takeFrames(id).entries.isEmpty)
        #expect(try self.state(of: id, seq: 10).items.map(\.seq) == Array(11...331))
    }

    @Test mutating func `retention that removes entries while the log is read turns the answer into a snapshot`() throws {
        fill(20)
        let id = stage.client("ann")
        stage.holdsLog = true
        stage.handle(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 5))))
        stage.answer(2)
        _ = stage.log.trim(.lobby, to: 3)
        stage.answer()
        let state = try #require(stage.takeFrames(id).states.first)
        #expect(state.isSnapshot && state.items.map(\.seq) == [18, 19, 20])
    }

    // MARK: A slow or failing log

    @Test mutating func `joins wait until the room is open`() {
        stage.holdsLog = true
        let (ann, bob) = (stage.client("ann"), stage.client("bob"))
        for id in [ann, bob] { stage.handle(id, .join(.init(room: .lobby))) }
        #expect(stage.orders == [.open(.lobby)])
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.early])
        stage.answer()
        #expect(stage.takeFrames(ann).states.count == 1 && stage.takeFrames(bob).states.count == 1)
    }

    @Test mutating func `a room that cannot be opened refuses its joins, and a later join tries again`() {
        stage.log.isReadable = false
        let id = stage.client("ann")
        stage.handle(id, .join(.init(room: .lobby)))
        let refusal = stage.takeFrames(id).refusals.first
        #expect(refusal?.code == .storage && refusal?.room == .lobby && stage.hub.figures.rooms == 0)
        stage.log.isReadable = true
        stage.handle(id, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(id).states.count == 1)
    }

    @Test mutating func `a log that cannot be read refuses the join, and a later join tries again`() throws {
        fill(100)
        let bob = stage.member("bob", device: 2)
        let id = stage.client("ann")
        stage.log.isReadable = false
        let join = ClientFrame.join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 5)))
        stage.handle(id, join)
        #expect(stage.takeFrames(id).codes == [.storage])
        stage.log.isReadable = true
        stage.handle(id, join)
        stage.log.isReadable = false
        stage.handle(id, join)
        #expect(stage.takeFrames(id).states.count == 1 && stage.closed.isEmpty)
        stage.publish(bob, 1...1)
        #expect(stage.hub.figures.members == 1)
    }

    @Test mutating func `a connection has a limit of concurrent reads, and the other joins wait`() {
        var policy = HubPolicy()
        policy.fetches = 2
        stage = HubStage(policy)
        let rooms = (1...5).map { RoomName("r\($0)")! }
        let bob = stage.client("bob")
        for room in rooms {
            stage.handle(bob, .join(.init(room: room)))
            stage.publish(bob, 1...200, in: room)
        }
        let epochs = rooms.map { stage.log.rooms[$0]!.epoch }
        let id = stage.client("ann")
        for (room, epoch) in zip(rooms, epochs) { stage.handle(id, .join(.init(room: room, cursor: LogPosition(epoch: epoch, seq: 200)))) }
        stage.holdsLog = true
        for (room, epoch) in zip(rooms, epochs) { stage.handle(id, .join(.init(room: room, cursor: LogPosition(epoch: epoch, seq: 1)))) }
        #expect(stage.orders.count == 2)
        stage.answer(1)
        #expect(stage.orders.count == 2)
        stage.answer()
        #expect(stage.takeFrames(id).states.suffix(5).map(\.room) == rooms)
    }

    // MARK: Leaving

    @Test mutating func `a client that left gets nothing more`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.handle(ann, .leave(.lobby))
        stage.publish(bob, 1...1)
        #expect(stage.takeFrames(ann).isEmpty)
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.notJoined])
    }

    @Test mutating func `a room without members is closed after a minute`() {
        let ann = stage.member("ann")
        stage.handle(ann, .leave(.lobby))
        stage.holdsLog = true
        stage.pass(.seconds(59))
        #expect(stage.hub.figures.rooms == 1)
        stage.pass(.seconds(1))
        #expect(stage.hub.figures.rooms == 0 && stage.orders == [.release(.lobby)])
    }

    @Test mutating func `a room that a client joins again is kept open`() {
        let ann = stage.member("ann")
        stage.handle(ann, .leave(.lobby))
        stage.pass(.seconds(59))
        stage.handle(ann, .join(.init(room: .lobby)))
        stage.pass(.seconds(600))
        #expect(stage.hub.figures.rooms == 1)
    }

    // MARK: History

    @Test mutating func `history is sent backwards in pages`() {
        fill(30)
        let id = stage.member("ann")
        stage.handle(id, .history(.init(reference: 7, room: .lobby, before: 21, limit: 5)))
        guard case .page(let page)? = stage.takeFrames(id).first else { return #expect(Bool(false), "no page") }
        #expect(page.reference == 7 && page.items.map(\.seq) == [16, 17, 18, 19, 20] && page.base == 1)
        stage.handle(id, .history(.init(reference: 8, room: .lobby, before: .max, limit: 2)))
        guard case .page(let last)? = stage.takeFrames(id).first else { return #expect(Bool(false), "no page") }
        #expect(last.items.map(\.seq) == [29, 30])
    }

    @Test mutating func `there is no history before the first entry`() {
        fill(5)
        let id = stage.member("ann")
        for before in [1, 0, .min] as [Int64] {
            stage.handle(id, .history(.init(reference: 1, room: .lobby, before: before, limit: 5)))
            guard case .page(let page)? = stage.takeFrames(id).first else { return #expect(Bool(false), "no page") }
            #expect(page.items.isEmpty)
        }
    }

    @Test mutating func `a history request that cannot be answered is refused with its reference`() {
        fill(5)
        let (id, stranger) = (stage.member("ann"), stage.client("eve"))
        stage.log.isReadable = false
        stage.handle(id, .history(.init(reference: 3, room: .lobby, before: 5, limit: 5)))
        stage.handle(stranger, .history(.init(reference: 4, room: .lobby, before: 5, limit: 5)))
        #expect(stage.takeFrames(id).refusals.map(\.reference) == [3])
        let refusal = stage.takeFrames(stranger).refusals.first
        #expect(refusal?.reference == 4 && refusal?.code == .notJoined)
    }
}
