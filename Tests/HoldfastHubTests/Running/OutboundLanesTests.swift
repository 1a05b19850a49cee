import RoomCore
import RoomsWire
import Testing

@testable import HoldfastHub

/// The frames that wait to be written to one client.
@Suite struct OutboundLanesTests {
    private var lanes: OutboundLanes
    private let stored = EncodedFrame(.entries(.abc, epoch: 1, []), .json)
    private let answer = EncodedFrame(.pong(1, now: 0), .json)
    private let ack = EncodedFrame(.acks(.abc, epoch: 1, []), .json)
    private let typing = EncodedFrame(.typing(.abc, UserName("ann") ?? { preconditionFailure("a name") }(), true), .json)

    init() {
        var limits = HubConfiguration.Lanes()
        (limits.stored, limits.most, limits.ephemeral) = (stored.bytes.count * 3, stored.bytes.count * 5, typing.bytes.count * 2)
        lanes = OutboundLanes(limits: limits)
    }

    private mutating func drain(_ count: Int) -> (frames: [String], isRelieved: Bool) {
        var frames: [String] = []
        let isRelieved = lanes.drain { frame in
            guard frames.count < count else { return false }
            let names = [typing.bytes: "typing", ack.bytes: "ack", answer.bytes: "answer"]
            frames.append(names[frame.bytes] ?? "stored")
            return true
        }
        return (frames, isRelieved)
    }

    @Test mutating func `a client over the limit is congested until all frames are written`() {
        #expect((1...3).map { _ in lanes.add(stored, isEphemeral: false) } == [.waits, .waits, .waits])
        #expect(lanes.add(stored, isEphemeral: false) == .congested)
        #expect(lanes.add(stored, isEphemeral: false) == .waits)
        #expect(drain(4) == (["stored", "stored", "stored", "stored"], false))
        #expect(lanes.isCongested)
        #expect(drain(4) == (["stored"], true))
        #expect(!lanes.isCongested && lanes.isEmpty && lanes.storedBytes == 0)
    }

    @Test mutating func `a client far over the limit is closed`() {
        #expect((1...6).map { _ in lanes.add(stored, isEphemeral: false) }.last == .tooMuch)
    }

    @Test mutating func `ephemeral frames over their limit are dropped, and do not use the space of stored ones`() {
        #expect((1...3).map { _ in lanes.add(typing, isEphemeral: true) } == [.waits, .waits, .dropped])
        #expect(lanes.add(stored, isEphemeral: false) == .waits)
        #expect(lanes.ephemeralBytes == 2 * typing.bytes.count && lanes.storedBytes == stored.bytes.count)
    }

    @Test mutating func `a client that missed a member list is congested`() {
        let nobody = HubFrame.RoomMembers(
            room: .abc, node: "n", incarnation: 1, version: 1, isFull: true, total: 0, members: [], gone: [])
        let members = EncodedFrame(.members(nobody), .json)
        for _ in 1...2 { _ = lanes.add(typing, isEphemeral: true) }
        #expect((1...2).map { _ in lanes.add(members, isEphemeral: true) } == [.congested, .dropped])
        #expect(drain(9) == (["typing", "typing"], true))
    }

    @Test mutating func `an ephemeral frame waits for at most one stored frame`() {
        for _ in 1...3 { _ = lanes.add(stored, isEphemeral: false) }
        for _ in 1...2 { _ = lanes.add(typing, isEphemeral: true) }
        #expect(drain(9) == (["stored", "typing", "stored", "typing", "stored"], false))
    }

    @Test mutating func `an ack goes before entries, and ephemeral frames do not go before an ack`() {
        _ = lanes.add(stored, isEphemeral: false)
        _ = lanes.add(stored, isEphemeral: false)
        _ = lanes.add(typing, isEphemeral: true)
        #expect(drain(1).frames == ["stored"])
        _ = lanes.add(ack, isEphemeral: false)
        _ = lanes.add(typing, isEphemeral: true)
        #expect(drain(9).frames == ["ack", "typing", "stored", "typing"])
        #expect(lanes.isEmpty && lanes.storedBytes == 0 && lanes.ephemeralBytes == 0)
    }

    @Test mutating func `other stored frames keep their order, and an ack does not overtake an answer`() {
        for frame in [stored, answer, ack, stored, answer, stored] { _ = lanes.add(frame, isEphemeral: false) }
        #expect(drain(1).frames == ["stored"])
        _ = lanes.add(answer, isEphemeral: false)
        #expect(drain(9).frames == ["answer", "ack", "stored", "answer", "stored", "answer"])
    }
}
