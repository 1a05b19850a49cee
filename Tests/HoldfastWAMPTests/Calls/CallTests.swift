import CodecCore
import Dispatch
import Foundation
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore

@Suite("Calls", .timeLimit(.minutes(1))) struct CallTests {
    @Test("arguments are positional, and the result has the declared type", arguments: WAMPSerialization.allCases)
    func positional(_ serialization: WAMPSerialization) async throws {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        async let sum = stage.wamp.call(API.add, 23, 7)
        let call = try await peer.call()
        #expect(call.procedure == "com.app.add")
        #expect(call.request == 1)
        #expect(call.arguments == WAMPArguments([23, 7]))
        try await peer.answer(call, [30], details: ["unknown": 1])
        #expect(try await sum == 30)
    }

    @Test("keywords, an object, several results and no result are encoded as declared", arguments: WAMPSerialization.allCases)
    func forms(_ serialization: WAMPSerialization) async throws {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        async let users = stage.wamp.call(API.find, API.Query(name: "ann", limit: nil))
        var call = try await peer.call()
        #expect(try call.arguments.list.isEmpty)
        #expect(try call.arguments.keywords["name"] == "ann")
        try await peer.answer(call, [[["id": 1, "name": "ann", "more": true]]])
        #expect(try await users == [API.User(id: 1, name: "ann")])

        async let user = stage.wamp.call(API.user, 5)
        call = try await peer.call()
        #expect(call.arguments == WAMPArguments([5]))
        try await peer.answer(call, [["id": 5, "name": "bob"]])
        #expect(try await user == API.User(id: 5, name: "bob"))

        async let parts = stage.wamp.call(API.split, 1.5)
        call = try await peer.call()
        try await peer.answer(call, [1])
        let (whole, rest) = try await parts
        #expect(whole == 1)
        #expect(rest == nil)

        async let nothing: Void = stage.wamp.call(API.ping)
        call = try await peer.call()
        #expect(call.arguments.isEmpty)
        try await peer.answer(call, ["ignored"])
        try await nothing
    }

    @Test(
        "simple results convert between integers and floats; a missing value or another type is an error",
        arguments: WAMPSerialization.allCases)
    func simple(_ serialization: WAMPSerialization) async throws {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        let procedure = Procedure<Void, (Int, String, Double, Bool)>("com.app.simple")
        let good: [(list: [Value], number: Int, fraction: Double)] = [
            ([-7, "a", 0.5, true, "more", .null], -7, 0.5), ([.float(3), "a", 2, true], 3, 2),
            ([.integer(.max), "a", -0.25, true], .max, -0.25),
        ]
        for (list, number, fraction) in good {
            async let result = stage.wamp.call(procedure)
            try await peer.answer(peer.call(), list)
            let (first, second, third, fourth) = try await result
            #expect((first, second, third) == (number, "a", fraction) && fourth)
        }
        for list: [Value] in [[1, "a", 0.5], [1, 2, 0.5, true], [.float(1.5), "a", 0.5, true], [1, "a", 0.5, 1], []] {
            let calling = Task { _ = try await stage.wamp.call(procedure) }
            try await peer.answer(peer.call(), list)
            let error = await #expect(throws: WAMPError.self) { try await calling.value }
            #expect(error?.code == .undecodable, "\(list)")
        }
    }

    @Test("an untyped call takes values and returns arguments")
    func untyped() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let result = stage.wamp.call("com.app.mixed", [1, "two"], keywords: ["three": 3.5])
        let call = try await peer.call()
        #expect(call.arguments == WAMPArguments([1, "two"], keywords: ["three": 3.5]))
        try await peer.answer(call, [true], keywords: ["k": [1, 2]])
        #expect(try await result == WAMPArguments([true], keywords: ["k": [1, 2]]))
    }

    @Test("bytes in JSON are decoded in the form of the specification and as plain Base64", arguments: ["\u{0}AQID", "AQID"])
    func bytes(_ text: String) async throws {
        let (stage, peer) = try await WAMPStage.joined(.json)
        async let data = stage.wamp.call(Procedure<Data, Data>("com.app.echo"), Data([1, 2, 3]))
        let call = try await peer.call()
        #expect(try call.arguments.list == [.bytes([1, 2, 3])])
        try await peer.answer(call, [.text(text)])
        #expect(try await data == Data([1, 2, 3]))
    }

    @Test("an error has its URI, its arguments, a description of the request and whether it is retryable")
    func refused() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        for (uri, isRetryable) in [("com.app.error.sold_out", false), (WAMPURI.Error.unavailable, true)] {
            let sum = Task { try await stage.wamp.call(API.add, 1, 2) }
            let call = try await peer.call()
            try await peer.send(
                .error(.call, request: call.request, details: [:], uri: uri, WAMPArguments(["gone"], keywords: ["left": 0])))
            let error = await #expect(throws: WAMPError.self) { try await sum.value }
            #expect(error?.code == .refused)
            #expect(error?.uri == uri)
            #expect(error?.arguments == WAMPArguments(["gone"], keywords: ["left": 0]))
            #expect(error?.request == "CALL com.app.add")
            #expect(error?.isRetryable == isRetryable)
            #expect(error?.description.hasPrefix("CALL com.app.add was refused with \(uri) (gone)") == true)
        }
    }

    @Test("a result of another type is an error that names the call")
    func undecodable() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let sum = Task { try await stage.wamp.call(API.add, 1, 2) }
        try await peer.answer(peer.call(), ["three"])
        let error = await #expect(throws: WAMPError.self) { try await sum.value }
        #expect(error?.code == .undecodable)
        #expect(error?.request == "CALL com.app.add")
        #expect(error?.underlying is DecodingError)
    }

    @Test("a request that cannot be encoded fails at once and uses no request id")
    func unsendable() async throws {
        let (stage, peer) = try await WAMPStage.joined(.json)
        let unwritable = await #expect(throws: WAMPError.self) { try await stage.wamp.call(API.bad, API.Bad()) }
        #expect(unwritable?.code == .unencodable)
        #expect(unwritable?.wasSent == false)
        let invalid = await #expect(throws: WAMPError.self) { try await stage.wamp.call("com..x#") }
        #expect(invalid?.code == .invalidURI)
        #expect(invalid?.wasSent == false)
        async let sum = stage.wamp.call(API.add, 1, 2)
        let call = try await peer.call()
        #expect(call.request == 1)
        try await peer.answer(call, [3])
        #expect(try await sum == 3)
    }

    @Test("the client enforces the timeout, forwards it, and sends CANCEL")
    func timeout() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let sum = Task { try await stage.wamp.call(API.add, 1, 2, options: CallOptions(timeout: .seconds(5))) }
        let call = try await peer.call()
        #expect(call.options["timeout"] == 5000)
        stage.clock.advance(by: .seconds(5))
        let error = await #expect(throws: WAMPError.self) { try await sum.value }
        #expect(error?.code == .timedOut)
        #expect(error?.wasSent == true)
        #expect(try await peer.cancellation(of: call.request) == "killnowait")
        // A late reply is ignored.
        try await peer.answer(call, [3])
        async let other = stage.wamp.call(API.add, 3, 4)
        try await peer.answer(peer.call(), [7])
        #expect(try await other == 7)
    }

    @Test("cancelling the task sends CANCEL with the chosen mode and returns at once")
    func cancelled() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let calling = Task { try await stage.wamp.call(API.add, 1, 2, options: CallOptions(cancelMode: .kill)) }
        let call = try await peer.call()
        calling.cancel()
        let error = await #expect(throws: WAMPError.self) { try await calling.value }
        #expect(error?.code == .cancelled)
        #expect(error?.wasSent == true)
        #expect(try await peer.cancellation(of: call.request) == "kill")
    }

    @Test("a call of a cancelled task is never sent")
    func cancelledBefore() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let calling = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stage.wamp.call(API.add, 1, 2)
        }
        let error = await #expect(throws: WAMPError.self) { try await calling.value }
        #expect(error?.code == .cancelled)
        #expect(error?.wasSent == false)
        async let sum = stage.wamp.call(API.add, 3, 4)
        let call = try await peer.call()
        #expect(call.arguments == WAMPArguments([3, 4]))
        try await peer.answer(call, [7])
        #expect(try await sum == 7)
    }

    @Test("a call with a lost connection ends once and says whether it was sent")
    func lost() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let sum = Task { try await stage.wamp.call(API.add, 1, 2) }
        _ = try await peer.call()
        peer.transport.cut()
        let error = await #expect(throws: WAMPError.self) { try await sum.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.wasSent == true)
        #expect(error?.isRetryable == true)
    }

    @Test("a call waits for the session up to its patience, and not at all without one")
    func waiting() async throws {
        let stage = WAMPStage()
        let hasty = await #expect(throws: WAMPError.self) {
            try await stage.wamp.call(API.add, 1, 2, options: CallOptions(joinPatience: nil))
        }
        #expect(hasty?.code == .notJoined)
        let patient = Task { try await stage.wamp.call(API.add, 3, 4, options: CallOptions(joinPatience: .seconds(60))) }
        let impatient = Task { try await stage.wamp.call(API.add, 1, 2, options: CallOptions(joinPatience: .seconds(3))) }
        let attempt = try #require(await stage.base.server.nextAttempt())
        while await stage.clock.nextSleep() != .seconds(3) {}
        stage.clock.advance(by: .seconds(3))
        let error = await #expect(throws: WAMPError.self) { try await impatient.value }
        #expect(error?.code == .timedOut)
        #expect(error?.wasSent == false)
        let peer = stage.answer(attempt, .cbor)
        try await peer.welcome()
        try await peer.answer(peer.call(), [7])
        #expect(try await patient.value == 7)
    }

    @Test("each of many concurrent calls gets its own result")
    func many() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let router = Task {
            var calls: [WAMPPeer.Call] = []
            while calls.count < 500 { calls.append(try await peer.call()) }
            for call in calls.reversed() {
                try await peer.answer(call, [.integer(Int64(try call.arguments.list.compactMap(\.int).reduce(0, +)))])
            }
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<500 { group.addTask { try await stage.wamp.call(API.add, number, 1000) == number + 1000 } }
            for try await isRight in group { #expect(isRight) }
        }
        try await router.value
    }

    @Test("the wait for room in a congested connection counts against the timeout")
    func congested() async throws {
        let (stage, peer) = try await WAMPStage.narrow()
        let queue = DispatchQueue(label: "test")
        for number in 0..<1000 { stage.wamp.publish(Topic<Int>("com.app.numbers"), number, on: queue) { _ in } }
        async let sum = stage.wamp.call(API.add, 1, 2, options: CallOptions(timeout: .seconds(5)))
        while await stage.clock.nextSleep() != .seconds(5) {}
        stage.clock.advance(by: .seconds(2))
        while let message = try await peer.next() {
            guard case .call(let request, let options, _, _) = message else { continue }
            #expect(options["timeout"] == 3000)
            try await peer.send(.result(request: request, details: [:], WAMPArguments([3])))
            break
        }
        #expect(try await sum == 3)
    }

    @Test("the description of an error shows the peer's text in one line of limited length")
    func description() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let sum = Task { try await stage.wamp.call(API.add, 1, 2) }
        let call = try await peer.call()
        let text = "first\nsecond\u{1B}[31m\u{202E}" + String(repeating: "x", count: 1000)
        try await peer.send(.error(.call, request: call.request, details: [:], uri: "com.app.error.odd", WAMPArguments([.text(text)])))
        let error = try #require(await #expect(throws: WAMPError.self) { try await sum.value })
        #expect(error.description.contains("(first\\nsecond\\u{1B}[31m\\u{202E}xxx"))
        #expect(error.description.count < 400)
        #expect(try error.arguments.list == [.text(text)])
    }
}
