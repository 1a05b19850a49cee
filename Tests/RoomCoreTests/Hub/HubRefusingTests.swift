import MachineCore
import RoomCore
import Testing

/// "Publishing": publications that are refused, for good or for now.
@Suite struct HubRefusingTests {
    private var stage = HubStage()

    // MARK: Refused for good

    @Test mutating func `a publication that is too long is refused for good`() {
        let ann = stage.member("ann")
        for publication in [
            Publication.numbered(1, bytes: 65_537), .numbered(1, type: ""), .numbered(1, type: String(repeating: "x", count: 65)),
            Publication(
                cseq: 1, id: .numbered(1), sent: HubStage.newYear,
                content: .init(type: "t", about: .init(kind: "", seq: 1), payload: .json([49]))),
        ] {
            stage.handle(ann, .publish(.lobby, publication))
            #expect(stage.takeFrames(ann).refusals.map { [$0.code.rawValue, $0.cseq, $0.retry == .never ? 1 : 0] } == [[4002, 1, 1]])
        }
        stage.handle(ann, .publish(.lobby, .numbered(1, type: String(repeating: "x", count: 64), bytes: 65_536)))
        #expect(stage.takeFrames(ann).acks.count == 1)
    }

    private static let (window, hour): (Int64, Int64) = (90 * 86_400_000, 3_600_000)

    @Test mutating func `a publication that is too old is refused for good, and one from the future for as long as it is early`() {
        let ann = stage.member("ann")
        let (window, hour) = (Self.window, Self.hour)
        for (sent, code, retry) in [
            (HubStage.newYear - window - 1, Refusal.Code.tooOld, Refusal.Retry.never), (.min, .tooOld, .never),
            (HubStage.newYear + hour + 1, .tooNew, .after(1)), (HubStage.newYear + hour + 7000, .tooNew, .after(7000)),
            (.max, .tooNew, .after((1 << 53) - HubStage.newYear - hour)),
        ] {
            stage.handle(ann, .publish(.lobby, .numbered(1, sent: sent)))
            let refusals = stage.takeFrames(ann).refusals
            #expect(refusals.map(\.code) == [code] && refusals.map(\.retry) == [retry])
        }
        stage.handle(
            ann, .publish(.lobby, .numbered(1, sent: HubStage.newYear - window)),
            .publish(.lobby, .numbered(2, sent: HubStage.newYear + hour)))
        #expect(stage.takeFrames(ann).acks.count == 2)
    }

    @Test mutating func `a stored publication is acked as stored, whatever the clock says`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...2)
        #expect(stage.takeFrames(ann).acks.count == 2)
        for jump in [-100, 100] as [Int64] {
            stage.give(.calendar(HubStage.newYear + jump * 86_400_000))
            stage.publish(ann, 1...2)
            #expect(stage.takeFrames(ann).acks.map(\.isDuplicate) == [true, true])
        }
    }

    @Test mutating func `a publication's age is measured by the log's time, which also decides when devices are forgotten`() {
        let ann = stage.member("ann")
        stage.give(.log(.time(HubStage.newYear)))
        stage.give(.calendar(HubStage.newYear + 200 * 86_400_000))
        stage.handle(ann, .publish(.lobby, .numbered(1, sent: HubStage.newYear - Self.window)))
        #expect(stage.takeFrames(ann).acks.count == 1)
        // A calendar that goes back does not admit publications of devices that may be forgotten.
        stage.give(.log(.time(HubStage.newYear + Self.hour)))
        stage.give(.calendar(HubStage.newYear))
        stage.handle(ann, .publish(.lobby, .numbered(2, sent: HubStage.newYear - Self.window)))
        #expect(stage.takeFrames(ann).codes == [.tooOld])
        stage.give(.log(.time(1)))
        stage.handle(ann, .publish(.lobby, .numbered(2, sent: HubStage.newYear - Self.window)))
        #expect(stage.takeFrames(ann).acks.count == 1, "a young log follows its calendar back, and the hub follows the log")
    }

    @Test mutating func `entry times of a room never go back, also after it is opened again`() {
        let ann = stage.member("ann")
        let later = HubStage.newYear + 100_000
        stage.give(.calendar(later))
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).acks.map(\.at) == [later])
        stage.give(.calendar(HubStage.newYear))
        stage.publish(ann, 2...2)
        #expect(stage.takeFrames(ann).acks.map(\.at) == [later])
        stage.log.outcomes = [.refused]
        stage.publish(ann, 3...3)
        stage.pass(.seconds(1))
        _ = stage.takeFrames(ann)
        stage.publish(ann, 3...3)
        #expect(stage.takeFrames(ann).acks.map(\.at) == [later])
    }

    @Test mutating func `publications behind a refused one wait until it is voided`() {
        let ann = stage.member("ann")
        stage.handle(ann, .publish(.lobby, .numbered(1, bytes: 70_000)))
        stage.publish(ann, 2...3)
        #expect(stage.takeFrames(ann).last == .hole(.lobby, expected: 1))
        stage.handle(ann, .publish(.lobby, .void(1)))
        stage.publish(ann, 2...3)
        #expect(stage.takeFrames(ann).acks.map(\.seq) == [0, 1, 2])
    }

    @Test mutating func `an invalid publication is refused alone, with its number, and those behind it go on`() throws {
        let ann = stage.member("ann")
        let envelope = try #require(PublicationEnvelope(room: .lobby, cseq: 1))
        stage.give(.unreadable(ann, envelope, "type: a field is missing", bytes: 100))
        stage.publish(ann, 2...2)
        let received = stage.takeFrames(ann)
        let refusal = try #require(received.refusals.first)
        #expect(refusal == Refusal(.malformed, room: .lobby, cseq: 1, "type: a field is missing"))
        #expect(received.last == .hole(.lobby, expected: 1) && stage.closed.isEmpty)
        stage.handle(ann, .publish(.lobby, .void(1)))
        stage.publish(ann, 2...2)
        #expect(stage.takeFrames(ann).acks.map(\.seq) == [0, 1])
        // Its number is used like any other.
        for (cseq, expected) in [(2, nil), (9, HubFrame.hole(.lobby, expected: 3))] as [(Int64, HubFrame?)] {
            stage.give(.unreadable(ann, try #require(PublicationEnvelope(room: .lobby, cseq: cseq)), "?", bytes: 100))
            let received = stage.takeFrames(ann)
            if let expected { #expect(received == [expected]) } else { #expect(received.acks.map(\.isDuplicate) == [true]) }
        }
    }

    @Test mutating func `an invalid publication without a hello or a join gets that error, and too many close the connection`() throws {
        let envelope = try #require(PublicationEnvelope(room: .lobby, cseq: 1))
        let (stranger, bob) = (stage.open(), stage.client("bob"))
        stage.give(.unreadable(stranger, envelope, "?", bytes: 100), .unreadable(bob, envelope, "?", bytes: 100))
        #expect(stage.closed == [stranger: 4100] && stage.takeFrames(bob).codes == [.notJoined])
        stage.give(.unreadable(bob, envelope, "?", bytes: 2_000_000))
        #expect(stage.closed[bob] == 4100)
        var policy = HubPolicy()
        policy.frames = .init(perSecond: 1, burst: 5)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        for _ in 0..<5 { stage.give(.unreadable(ann, envelope, "?", bytes: 100)) }
        #expect(stage.closed[ann] == 4003)
    }

    @Test mutating func `an invalid status or signal is refused alone, and the room and the connection stay`() {
        let ann = stage.member("ann", presence: true)
        stage.give(.unheard(ann, .init(room: .lobby), "meta: no JSON", bytes: 100))
        #expect(stage.takeFrames(ann).refusals == [Refusal(.malformed, room: .lobby, "meta: no JSON")] && stage.closed.isEmpty)
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).acks.count == 1)
        stage.give(.unheard(ann, .init(room: RoomName("other")!), "?", bytes: 100))
        #expect(stage.takeFrames(ann).codes == [.notJoined] && stage.closed.isEmpty)
        stage.give(.unheard(ann, .init(room: .lobby), "?", bytes: 2_000_000))
        let stranger = stage.open()
        stage.give(.unheard(stranger, .init(room: .lobby), "?", bytes: 100))
        #expect(stage.closed == [ann: 4100, stranger: 4100])
        var policy = HubPolicy()
        policy.frames = .init(perSecond: 1, burst: 5)
        stage = HubStage(policy)
        let bob = stage.member("bob")
        for _ in 0..<5 { stage.give(.unheard(bob, .init(room: .lobby), "?", bytes: 100)) }
        #expect(stage.closed[bob] == 4003)
    }

    // MARK: Refused for now

    @Test mutating func `a publication to a room without a join or a state is refused`() {
        let ann = stage.client("ann")
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).refusals.map(\.retry) == [.now])
        stage.holdsLog = true
        stage.handle(ann, .join(.init(room: .lobby)))
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.early])
    }

    @Test mutating func `a publication over the rate is not voided, and the hub reports no hole for those behind it`() throws {
        var policy = HubPolicy()
        policy.connection.messages = .init(perSecond: 1, burst: 2)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        stage.publish(ann, 1...5)
        let received = stage.takeFrames(ann)
        #expect(received.acks.map(\.cseq) == [1, 2])
        let refusal = try #require(received.refusals.first)
        guard case .after(let wait) = refusal.retry else { return #expect(Bool(false), "no time") }
        #expect(received.refusals.count == 1 && refusal.code == .rate && refusal.cseq == 3 && (500...2000).contains(wait))
        #expect(!received.contains { if case .hole = $0 { true } else { false } })
        stage.pass(.milliseconds(wait))
        stage.publish(ann, 3...3)
        #expect(stage.takeFrames(ann).acks.map(\.cseq) == [3])
    }

    @Test mutating func `published bytes have a rate, too`() {
        var policy = HubPolicy()
        policy.connection.bytes = .init(perSecond: 1000, burst: 2000)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        stage.handle(ann, .publish(.lobby, .numbered(1)), .publish(.lobby, .numbered(2)), bytes: 1900)
        let received = stage.takeFrames(ann)
        #expect(received.acks.count == 1 && received.codes == [.rate])
    }

    @Test mutating func `a user and an address have rates over all their connections`() {
        for isUser in [true, false] {
            var policy = HubPolicy()
            let rate = HubPolicy.Rate(perSecond: 1, burst: 2)
            if isUser { policy.user.messages = rate } else { policy.address.messages = rate }
            var stage = HubStage(policy)
            let (one, other) = (stage.member("ann"), stage.member(isUser ? "ann" : "bob"))
            stage.publish(one, 1...2)
            stage.publish(other, 1...1)
            #expect(stage.takeFrames(one).acks.count == 2 && stage.takeFrames(other).codes == [.rate])
            // A reconnect gives no further allowance.
            for id in [one, other] { stage.give(.gone(id)) }
            let again = stage.member(isUser ? "ann" : "bob", device: 77)
            stage.publish(again, 1...1)
            #expect(stage.takeFrames(again).codes == [.rate])
            stage.pass(.seconds(4))
            stage.publish(again, 1...1)
            #expect(stage.takeFrames(again).acks.count == 1)
        }
    }

    @Test mutating func `pending publications are limited by the windows`() {
        var policy = HubPolicy()
        (policy.limits.roomWindow, policy.limits.window) = (3, 5)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        let other = RoomName("other")!
        stage.handle(ann, .join(.init(room: other)))
        stage.holdsLog = true
        _ = stage.takeFrames(ann)
        stage.publish(ann, 1...4)
        stage.publish(ann, 1...3, in: other)
        #expect(stage.takeFrames(ann).refusals.map(\.cseq) == [4, 3])
        stage.answer()
        stage.publish(ann, 4...4)
        stage.publish(ann, 3...3, in: other)
        stage.answer()
        #expect(stage.takeFrames(ann).acks.count == 7)
    }
}
