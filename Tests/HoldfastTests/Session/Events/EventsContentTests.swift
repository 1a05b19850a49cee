import Holdfast
import HoldfastTesting
import Testing
import WebSocketCore

/// The content of a socket's events.
@Suite(.timeLimit(.minutes(1))) struct EventsContentTests {
    private func opening(_ events: inout WebSocketEvents.AsyncIterator) async throws -> Opening {
        while let event = await events.next() { if case .opened(let opening) = event { return opening } }
        throw CancellationError()
    }

    @Test func `an opening has the subprotocol, the headers, the attempt and the time without a connection`() async throws {
        let stage = Stage()
        var events = stage.socket.events.makeAsyncIterator()
        try await stage.refuse()
        await stage.pause()
        let head = ResponseHead(status: 101, headers: ["X-Node": "seven"])
        let peer = try #require(await stage.server.nextAttempt()).accept(Agreement(subprotocol: "ticks", response: head))
        let first = try await opening(&events)
        #expect(first.subprotocol == "ticks" && first.headers["X-Node"] == "seven")
        #expect(first.attempt == 2 && first.downtime == nil)
        peer.cut()
        await stage.pause(of: .seconds(2))
        let attempt = try #require(await stage.server.nextAttempt())
        stage.clock.advance(by: .milliseconds(300))
        _ = attempt.accept()
        let second = try await opening(&events)
        #expect(second.attempt == 3 && second.downtime == .milliseconds(2300))
    }

    @Test func `an opening of a connection that takes over has no downtime`() async throws {
        let stage = Stage { options in
            options.credentials = .bearer { Credential("secret", expiresIn: .seconds(600)) }
        }
        var events = stage.socket.events.makeAsyncIterator()
        let old = try await stage.accept()
        #expect(try await opening(&events).downtime == nil)
        await stage.pause(of: .seconds(30))
        await stage.pause(of: .seconds(540))
        let new = try await stage.accept()
        #expect(try await opening(&events).downtime == .zero)
        withExtendedLifetime((old, new)) {}
    }

    @Test func `the description of an opening omits its headers`() async throws {
        let stage = Stage()
        var events = stage.socket.events.makeAsyncIterator()
        let head = ResponseHead(status: 101, headers: ["Set-Cookie": "secret"])
        _ = try #require(await stage.server.nextAttempt()).accept(Agreement(response: head))
        #expect("\(try await opening(&events))" == "attempt 1")
    }

    @Test(arguments: [("bearer.s3cr3t", "attempt 1, subprotocol <hidden>"), ("mqtt", "attempt 1, subprotocol mqtt")])
    func `the description of an opening omits a subprotocol that may be a token`(name: String, description: String) async throws {
        let stage = Stage()
        var events = stage.socket.events.makeAsyncIterator()
        _ = try #require(await stage.server.nextAttempt()).accept(Agreement(subprotocol: name, response: ResponseHead(status: 101)))
        let opening = try await opening(&events)
        #expect("\(opening)" == description && opening.subprotocol == name)
    }

    @Test func `the states come in order among the other events`() async throws {
        let stage = Stage()
        var words: [String] = []
        let peer = try await stage.accept()
        var events = stage.socket.events.makeAsyncIterator()
        func take(until last: String) async {
            while let event = await events.next() {
                words.append(event.word)
                if event.word == last { return }
            }
        }
        await take(until: "opened")
        peer.cut()
        await take(until: "reconnecting")
        await stage.pause()
        let next = try await stage.accept()
        await take(until: "opened")
        let closing = Task { await stage.socket.close() }
        await take(until: "closed")
        await closing.value
        withExtendedLifetime(next) {}
        #expect(
            words == [
                "connecting", "connected", "opened", "waiting", "reconnecting", "connecting", "connected", "opened", "closing", "closed",
            ])
    }

    @Test func `an opened event directly follows the connected state, even while the app's state changes`() async throws {
        let stage = Stage()
        let lifeEvents = Task {
            for _ in 1...300 {
                await stage.socket.notify(.suspended)
                await Task.yield()
                await stage.socket.notify(.foreground)
            }
            await stage.socket.close()
        }
        let server = Task { while let attempt = await stage.server.nextAttempt() { _ = attempt.accept() } }
        let time = Task { while !Task.isCancelled { stage.clock.advance(by: await stage.clock.nextSleep()) } }
        var before: String?
        for await event in stage.socket.events {
            if case .opened = event { #expect(before == "connected") }
            before = event.word
        }
        for task in [lifeEvents, server, time] { task.cancel() }
        #expect(before == "closed")
    }

    @Test func `the closed event has both codes and the side that closed first`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        _ = await peer.close(CloseFrame(CloseCode(rawValue: 4001), reason: "because"))
        var last: WebSocketEvent?
        for await event in stage.socket.events { last = event }
        guard case .closed(let closure)? = last else { throw CancellationError() }
        #expect(closure.receivedCode == CloseCode(rawValue: 4001) && closure.sentCode == CloseCode(rawValue: 4001))
        #expect(closure.closedFirst == .remote && closure.error?.code == .closed)
    }

    @Test func `a close by the app is no error, and its closed event has the sent code`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.close(code: CloseCode(rawValue: 4002), reason: "done")
        var last: WebSocketEvent?
        for await event in stage.socket.events { last = event }
        guard case .closed(let closure)? = last else { throw CancellationError() }
        #expect(closure.error == nil && closure.closedFirst == .local && closure.sentCode == CloseCode(rawValue: 4002))
        withExtendedLifetime(peer) {}
    }

    @Test func `a final failure without a connection has no close codes`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        _ = await peer.close(CloseFrame(.serviceRestart))
        await stage.pause()
        try await stage.refuse(.refused(403))
        var last: WebSocketEvent?
        for await event in stage.socket.events { last = event }
        guard case .closed(let closure)? = last else { throw CancellationError() }
        #expect(closure.error?.httpStatus == 403 && closure.record == nil)
    }

    @Test func `the messages sequence continues over all connections, and ends without an error`() async throws {
        let stage = Stage()
        var messages = stage.socket.messages.makeAsyncIterator()
        for number in 1...3 {
            let peer = try await stage.accept()
            try await peer.send(.text("\(number)"))
            #expect(try await messages.next() == .text("\(number)"))
            guard number < 3 else {
                _ = await peer.close(CloseFrame(.normal))
                break
            }
            peer.cut()
            await stage.pause()
        }
        #expect(try await messages.next() == nil)
        #expect(try await messages.next() == nil)
    }

    @Test func `the messages sequence throws the final error once`() async throws {
        let stage = Stage()
        var messages = stage.socket.messages(buffering: .dropOldest(capacity: 3)).makeAsyncIterator()
        try await stage.refuse(.refused(403))
        let error = await #expect(throws: WebSocketError.self) { _ = try await messages.next() }
        #expect(error?.httpStatus == 403)
        #expect(try await messages.next() == nil)
    }
}

extension WebSocketEvent {
    /// The first word of its description.
    fileprivate var word: String {
        if case .state(let state) = self { return String("\(state)".prefix(while: \.isLetter)) }
        return String("\(self)".prefix(while: \.isLetter))
    }
}
