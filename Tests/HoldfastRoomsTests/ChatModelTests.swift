import Holdfast
import HoldfastRooms
import HoldfastTesting
import ProtocolStage
import Observation
import RoomCore
import RoomsWire
import Testing

/// The state of a chat's view.
@MainActor @Suite(.timeLimit(.minutes(2))) struct ChatModelTests {
    /// Waits until the model meets a condition.
    private func until(_ model: ChatModel, _ isReached: (ChatModel) -> Bool) async {
        while !isReached(model), !Task.isCancelled {
            let (changed, change) = AsyncStream.makeStream(of: Never.self)
            let isThere = withObservationTracking {
                isReached(model)
            } onChange: {
                change.finish()
            }
            if isThere { return }
            for await _ in changed {}
        }
    }

    @Test func `a chat shows stored messages, new ones, and their edits and reactions`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(1, "one"), .said(2, "two")])
        let model = ChatModel(room)
        await until(model) { $0.messages.map(\.text) == ["one", "two"] && $0.connection == .live }
        #expect(model.unread == 2 && !model.hasEarlier && model.title == "abc")
        var edit = Entry.said(3, "TWO")
        (edit.type, edit.about) = ("holdfast.edit", Reference(kind: "edit", seq: 2))
        var reaction = Entry.said(4)
        (reaction.type, reaction.about) = ("holdfast.react", Reference(kind: "react", seq: 1))
        reaction.payload = .json(Array(#"{"key":"👍","on":true}"#.utf8))
        try await peer.entries([edit, reaction])
        await until(model) { $0.messages.map(\.text) == ["one", "TWO"] && !$0.messages[0].reactions.isEmpty }
        #expect(model.messages[1].isEdited)
        #expect(model.messages[0].reactions == [ChatReaction(key: "👍", users: [RoomsPeer.bob], isOwn: false)])
        var deletion = Entry.said(5)
        (deletion.type, deletion.about) = ("holdfast.delete", Reference(kind: "delete", seq: 1))
        try await peer.entries([deletion])
        await until(model) { $0.messages[0].isDeleted }
        #expect(model.messages[0].text.isEmpty && model.unread == 1)
        model.markRead()
        await until(model) { $0.unread == 0 }
    }

    @Test func `the draft stays when a message cannot be sent`() async throws {
        let (_, _, room) = try await RoomsStage.live()
        let model = ChatModel(room)
        let text = String(repeating: "x", count: 70_000)
        model.draft = text
        await model.send()
        #expect(model.draft == text && model.problem != nil)
    }

    @Test func `a sent message appears at once, and its status changes in place`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let model = ChatModel(room)
        model.draft = "hi"
        #expect(try await peer.next { if case .typing = $0 { true } else { false } } == .typing(RoomsPeer.room, true))
        await model.send()
        #expect(model.draft.isEmpty)
        await until(model) { $0.messages.map(\.text) == ["hi"] }
        let id = model.messages[0].id
        let publication = try await peer.publication()
        await until(model) { $0.messages.first?.delivery == .sent }
        try await peer.ack(publication, at: 1)
        await until(model) { $0.messages.first?.delivery == .stored }
        try await peer.entries([.of(publication, 1, by: try #require(stage.rooms.device))])
        await until(model) { $0.messages.first?.seq == 1 }
        #expect(model.messages.map(\.id) == [id] && model.messages[0].isOwn)
        try await peer.send(.read(RoomsPeer.room, RoomsPeer.bob, upTo: 1))
        await until(model) { $0.messages.first?.delivery == .seen(1) }
        await model.react(to: model.messages[0], "👍")
        #expect(try await peer.publication().content?.about == Reference(kind: "react", seq: 1))
        await model.edit(model.messages[0], to: "ho")
        #expect(try await peer.publication().content?.type == "holdfast.edit")
        await model.delete(model.messages[0])
        #expect(try await peer.publication().content?.type == "holdfast.delete")
        // White space alone is no message.
        model.draft = " \n"
        await model.send()
        #expect(room.outbox.count { $0.content.type == ChatText.typeName } == 0)
    }

    @Test func `a failed message can be retried or discarded`() async throws {
        let (_, peer, room) = try await RoomsStage.live()
        let model = ChatModel(room)
        model.draft = "hi"
        await model.send()
        try await peer.refuse(try await peer.publication())
        try await peer.ack(try await peer.publication(), at: 0)
        await until(model) { $0.messages.first?.delivery == .failed("not here") }
        model.retry(model.messages[0])
        await until(model) { $0.messages.first?.delivery != .failed("not here") }
        try await peer.refuse(try await peer.publication())
        try await peer.ack(try await peer.publication(), at: 0)
        await until(model) { $0.messages.first?.delivery == .failed("not here") }
        let message = model.messages[0]
        model.discard(message)
        await until(model) { $0.messages.isEmpty }
        model.retry(message)
        #expect(model.problem != nil)
    }

    @Test func `older messages are loaded on request`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(3), .said(4)])
        let model = ChatModel(room)
        await until(model) { $0.messages.count == 2 && $0.hasEarlier }
        async let loading: Void = model.loadEarlier()
        guard case .history(let question)? = try await peer.next({ if case .history = $0 { true } else { false } }) else {
            throw RoomsPeer.Mismatch()
        }
        #expect(model.isLoadingEarlier)
        try await peer.page([.said(1), .said(2)], for: question, base: 1)
        await loading
        #expect(model.messages.map(\.text) == ["1", "2", "3", "4"] && !model.hasEarlier && !model.isLoadingEarlier)
    }

    @Test func `older messages can be loaded in the first session, too`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        let model = ChatModel(room)
        let peer = try await stage.resume()
        try await peer.state([.said(3), .said(4)], base: 1)
        await until(model) { $0.messages.count == 2 && $0.hasEarlier }
    }

    @Test func `a message with the ID of another neither hides it nor is taken for it`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let model = ChatModel(room)
        model.draft = "mine"
        await model.send()
        let publication = try await peer.publication()
        var forged = Entry.said(1, "forged")
        forged.id = publication.id
        try await peer.entries([forged])
        await until(model) { $0.messages.map(\.text) == ["forged", "mine"] }
        try await peer.ack(publication, at: 2)
        let device = try #require(stage.rooms.device)
        try await peer.entries([.of(publication, 2, by: device), .of(publication, 3, by: device)])
        await until(model) { $0.messages.count == 3 }
        #expect(Set(model.messages.map(\.id)).count == 3)
        #expect(model.messages.map(\.isOwn) == [false, true, true])
    }

    @Test func `a long chat keeps its last messages, and loads older ones again with their edits and reactions`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(1)])
        let model = ChatModel(room)
        for first in stride(from: Int64(2), to: 2902, by: 100) { try await peer.entries((first..<first + 100).map { .said($0) }) }
        var edit = Entry.said(2902, "changed")
        (edit.type, edit.about) = ("holdfast.edit", Reference(kind: "edit", seq: 350))
        try await peer.entries([edit, .said(2903)])
        await until(model) { $0.messages.last?.seq == 2903 }
        let first = try #require(model.messages.first?.seq)
        #expect((2000...2500).contains(model.messages.count) && first > 350 && model.hasEarlier)
        while model.messages[0].seq ?? 0 > 350 { await model.loadEarlier() }
        #expect(model.messages.map(\.seq) == Array((model.messages[0].seq ?? 0)...2901) + [2903])
        #expect(model.messages.first { $0.seq == 350 }?.text == "changed")
        #expect(model.messages.first { $0.seq == 351 }?.text == "351")
        let count = model.messages.count
        try await peer.entries([.said(2904)])
        await until(model) { $0.messages.last?.seq == 2904 }
        #expect(model.messages.count == count + 1)
    }

    @Test func `a snapshot replaces all messages`() async throws {
        let (stage, peer, room) = try await RoomsStage.live([.said(1)])
        let model = ChatModel(room)
        await until(model) { $0.messages.count == 1 }
        peer.transport.cut()
        await until(model) { $0.connection != .live }
        let second = try await stage.answerAgain()
        _ = try await second.next()
        try await second.welcome()
        try await second.state([.said(90), .said(91)], epoch: 0xBB, base: 50)
        await until(model) { $0.messages.map(\.text) == ["90", "91"] && $0.connection == .live }
        #expect(model.hasEarlier)
    }

    @Test func `without a connection the chat shows stored messages, and new ones wait`() async throws {
        let store = MemoryRoomStore()
        do {
            let (stage, _, _) = try await RoomsStage.live([.said(1, "one")], store: store)
            await stage.rooms.close()
        }
        let stage = RoomsStage(store: store)
        let room = try await stage.rooms.join("abc")
        let model = ChatModel(room)
        model.draft = "two"
        await model.send()
        await until(model) { $0.messages.map(\.text) == ["one", "two"] }
        #expect(model.messages[1].delivery == .queued && model.connection != .live)
        await stage.rooms.close()
        await until(model) { $0.connection == .closed(nil) }
    }

    @Test func `the draft stays when the rooms have ended, for whatever reason`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        let model = ChatModel(room)
        let peer = try await stage.answer()
        _ = try await peer.next()
        try await peer.send(.refusal(Refusal(.token, "no")))
        await stage.rooms.states.until { if case .closed(.refused?) = $0 { true } else { false } }
        model.draft = "hi"
        await model.send()
        #expect(model.draft == "hi" && model.problem != nil)
    }

    @Test func `the own user is marked once among the members, with any number of devices`() async throws {
        let (_, peer, room) = try await RoomsStage.live()
        let model = ChatModel(room)
        let present = [("c1", RoomsPeer.ann), ("c2", RoomsPeer.bob), ("c3", RoomsPeer.ann)]
        try await peer.members(present.map { PresentMember(connection: $0.0, user: $0.1, presence: Presence()) })
        await until(model) {
            $0.people == [ChatPerson(user: RoomsPeer.ann, isOwn: true), ChatPerson(user: RoomsPeer.bob, isOwn: false)]
        }
        #expect(model.people.map(\.id) == [RoomsPeer.ann, RoomsPeer.bob])
    }

    @Test func `members and typing users are shown, and a released model releases its room`() async throws {
        let (_, peer, room) = try await RoomsStage.live()
        var model: ChatModel? = ChatModel(room)
        try await peer.members([PresentMember(connection: "c2", user: RoomsPeer.bob, presence: Presence())])
        try await peer.send(.typing(RoomsPeer.room, RoomsPeer.bob, true))
        let bob = ChatPerson(user: RoomsPeer.bob, isOwn: false)
        if let model { await until(model) { $0.people == [bob] && $0.typing == [RoomsPeer.bob] } }
        weak let trace = model
        model = nil
        #expect(trace == nil)
    }
}
