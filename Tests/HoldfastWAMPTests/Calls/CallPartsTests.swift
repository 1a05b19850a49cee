import CodecCore
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import WebSocketRuntime
import Testing
import WAMPCore

@Suite("Progressive calls", .timeLimit(.minutes(1))) struct CallPartsTests {
    @Test("a call delivers progressive results and then the final one")
    func progressive() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let progress = try stage.wamp.callProgressively(Procedure<Int, Int>("com.app.count"), 3)
        let call = try await peer.call()
        #expect(call.options["receive_progress"] == true)
        for part in 1...2 { try await peer.answer(call, [.integer(Int64(part))], details: ["progress": true]) }
        try await peer.answer(call, [3])
        var parts: [Int] = []
        var isFinal: [Bool] = []
        for try await part in progress {
            parts.append(part.value)
            isFinal.append(part.isFinal)
        }
        #expect(parts == [1, 2, 3])
        #expect(isFinal == [false, false, true])
    }

    @Test("a progressive call is cancelled when its results are released")
    func released() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        var progress: CallProgress<WAMPArguments>? = try stage.wamp.callProgressively("com.app.count", [3])
        let call = try await peer.call()
        _ = progress
        progress = nil
        #expect(try await peer.cancellation(of: call.request) == "killnowait")
    }

    @Test("a loop over progressive results ends with the error of the call")
    func failing() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let progress = try stage.wamp.callProgressively("com.app.count", [3])
        let call = try await peer.call()
        try await peer.answer(call, [1], details: ["progress": true])
        try await peer.send(.error(.call, request: call.request, details: [:], uri: "com.app.error.tired", .none))
        var iterator = progress.makeAsyncIterator()
        #expect(try await iterator.next()?.value == WAMPArguments([1]))
        let error = await #expect(throws: WAMPError.self) { try await iterator.next() }
        #expect(error?.uri == "com.app.error.tired")
    }

    @Test("a call with too many unread progressive results is cancelled with an error")
    func overrun() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let progress = try stage.wamp.callProgressively("com.app.count")
        let call = try await peer.call()
        for part in 0...4096 { try await peer.answer(call, [.integer(Int64(part))], details: ["progress": true]) }
        #expect(try await peer.cancellation(of: call.request) == "killnowait")
        var count = 0
        let error = await #expect(throws: WAMPError.self) { for try await _ in progress { count += 1 } }
        #expect(error?.code == .overrun)
        #expect(count == 4096)
    }

    @Test("all parts of the input have one request id, and the last part ends the input")
    func inParts() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let sum = try stage.wamp.callInParts("com.app.sum", [1])
        try await sum.send([2])
        try await sum.finish([3])
        for (value, isMore) in [(Value.integer(1), true), (.integer(2), true), (.integer(3), false)] {
            let call = try await peer.call()
            #expect(call.request == 1)
            #expect(call.arguments == WAMPArguments([value]))
            #expect((call.options["progress"] == true) == isMore)
            if !isMore { try await peer.answer(call, [6]) }
        }
        #expect(try await sum.result() == WAMPArguments([6]))
        let late = await #expect(throws: WAMPError.self) { try await sum.send([4]) }
        #expect(late?.code == .cancelled)
    }

    @Test("sending input of a failed call throws the error of the call")
    func failedInput() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let sum = try stage.wamp.callInParts("com.app.sum", [1])
        let call = try await peer.call()
        try await peer.send(.error(.call, request: call.request, details: [:], uri: "com.app.error.tired", .none))
        let error = await #expect(throws: WAMPError.self) { while !Task.isCancelled { try await sum.send([2]) } }
        #expect(error?.uri == "com.app.error.tired")
        let other = try stage.wamp.callInParts("com.app.sum", [1])
        other.cancel()
        #expect(await #expect(throws: WAMPError.self) { try await other.send([2]) }?.code == .cancelled)
    }

    @Test("sending input waits for the session up to the patience of the call")
    func inputWithoutSession() async throws {
        let stage = WAMPStage()
        let hasty = try stage.wamp.callInParts("com.app.hasty", [1], options: CallOptions(joinPatience: .seconds(3)))
        while await stage.clock.nextSleep() != .seconds(3) {}
        let sum = try stage.wamp.callInParts("com.app.sum", [1], options: CallOptions(joinPatience: .seconds(60)))
        let sent = LockedValue(0)
        let sending = Task {
            for part in 2...3 {
                try await sum.send([.integer(Int64(part))])
                sent.withLockedValue { $0 += 1 }
            }
        }
        let waiting = Task { try await hasty.send([2]) }
        await ProtocolStage.giveWay()
        #expect(sent.withLockedValue(\.self) == 0)
        stage.clock.advance(by: .seconds(3))
        #expect(await #expect(throws: WAMPError.self) { try await waiting.value }?.code == .timedOut)
        let peer = try await stage.accept()
        for part in 1...3 { #expect(try await peer.call().arguments == WAMPArguments([.integer(Int64(part))])) }
        try await sending.value
    }
}
