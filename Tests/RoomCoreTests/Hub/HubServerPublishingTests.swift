import MachineCore
import RoomCore
import Testing

/// Publications of the server itself.
@Suite struct HubServerPublishingTests {
    private var stage = HubStage()

    @Test mutating func `a server publication is handled like a client's`() {
        let ann = stage.member("ann")
        let (first, again) = (ServerRequest(1), ServerRequest(2))
        stage.give(.publish(first, .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        #expect(stage.takeFrames(ann).entries == [1])
        let epoch = stage.log.rooms[.lobby]!.epoch
        #expect(stage.answers[first] == .stored(epoch: epoch, .init(cseq: 1, seq: 1, at: HubStage.newYear, id: .numbered(1))))
        stage.give(.publish(again, .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        #expect(
            stage.answers[again] == .stored(epoch: epoch, .init(cseq: 1, seq: 1, at: HubStage.newYear, id: .numbered(1), isDuplicate: true))
        )
        #expect(stage.log.rooms[.lobby]?.head == 1)
    }

    @Test mutating func `concurrent requests for the same publication are answered together, and it is stored once`() {
        stage.holdsLog = true
        for number in 1...3 as ClosedRange<UInt64> {
            stage.give(.publish(ServerRequest(number), .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        }
        stage.answer(2)
        stage.give(.publish(ServerRequest(4), .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        #expect(stage.answers.isEmpty)
        stage.answer()
        #expect(stage.answers.count == 4 && stage.log.rooms[.lobby]?.head == 1)
        stage.pass(.seconds(61))
        #expect(stage.hub.figures.rooms == 0)
    }

    @Test mutating func `server publications without a number get the next one, in their order`() {
        let (device, bot) = (DeviceID.numbered(50), UserName("bot")!)
        func give(_ request: UInt64, cseq: Int64 = 0) {
            var publication = Publication.numbered(7)
            publication.cseq = cseq
            stage.give(.publish(ServerRequest(request), .lobby, device, bot, publication))
        }
        stage.holdsLog = true
        for request in 1...3 as ClosedRange<UInt64> { give(request) }
        stage.answer(1)
        give(4)
        stage.answer()
        stage.pass(.seconds(100))
        give(5)
        give(6, cseq: -1)
        stage.answer()
        let places = (1...5 as ClosedRange<UInt64>).map { request -> [Int64] in
            guard case .stored(_, let ack)? = stage.answers[ServerRequest(request)], !ack.isDuplicate else { return [] }
            return [ack.cseq, ack.seq]
        }
        #expect(places == (1...5).map { [$0, $0] } && stage.log.rooms[.lobby]?.marks[device]?.high == 5)
        guard case .refused? = stage.answers[ServerRequest(6)] else {
            Issue.record("a number below 0 was accepted")
            return
        }
    }

    @Test mutating func `a server publication that is refused is answered, too`() {
        func code(_ answer: ServerAnswer?) -> Refusal.Code? { if case .refused(let refusal)? = answer { refusal.code } else { nil } }
        let bot = UserName("bot")!
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(50), bot, .numbered(1, bytes: 70_000)))
        stage.give(.publish(ServerRequest(2), .lobby, .numbered(50), bot, .numbered(2)))
        stage.log.outcomes = [.refused]
        stage.give(.publish(ServerRequest(3), .lobby, .numbered(50), bot, .numbered(1)))
        stage.give(.publish(ServerRequest(4), .lobby, .numbered(50), bot, .numbered(1)))
        stage.log.isReadable = false
        stage.give(.publish(ServerRequest(5), RoomName("other")!, .numbered(50), bot, .numbered(1)))
        stage.log.isReadable = true
        _ = stage.member("ann", of: RoomName("third")!, device: 9)
        stage.give(.publish(ServerRequest(6), RoomName("third")!, .numbered(9), bot, .numbered(1)))
        #expect((1...6).map { code(stage.answers[ServerRequest($0)]) } == [.size, .early, .storage, .storage, .storage, .device])
    }
}
