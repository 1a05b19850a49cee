import CodecCore
import HoldfastWAMP
import Testing
import WAMPCore

@testable import HoldfastTool

@Suite struct WAMPLineTests {
    private let several = WAMPArguments([1, "two"], keywords: ["a": true])

    @Test func `a result that is one value is that value`() {
        #expect(WAMPLine.result(WAMPArguments([30]), isFull: false) == "30")
        #expect(WAMPLine.result(WAMPArguments([["a": 1]]), isFull: false) == #"{"a":1}"#)
        #expect(WAMPLine.result(.none, isFull: false) == "null")
    }

    @Test func `any other is its arguments`() {
        #expect(WAMPLine.result(several, isFull: false) == #"{"args":[1,"two"],"kwargs":{"a":true}}"#)
        #expect(WAMPLine.result(WAMPArguments([30]), isFull: true) == #"{"args":[30],"kwargs":{}}"#)
        #expect(WAMPLine.result(WAMPArguments([30]), isPart: true, isFull: true) == #"{"args":[30],"kwargs":{},"progress":true}"#)
    }

    @Test func `an event says where it comes from`() {
        #expect(
            WAMPLine.event(topic: "com.a", publication: 7, publisher: 9, several)
                == #"{"topic":"com.a","publication":7,"publisher":9,"args":[1,"two"],"kwargs":{"a":true}}"#)
        #expect(
            WAMPLine.event(topic: "com.a", publication: 7, publisher: nil, .none)
                == #"{"topic":"com.a","publication":7,"args":[],"kwargs":{}}"#)
    }

    @Test func `a gap says why`() {
        #expect(WAMPLine.gap(.reconnected) == #"{"gap":"reconnected"}"#)
        #expect(WAMPLine.gap(.filled(events: 3)) == #"{"gap":"filled","events":3}"#)
        #expect(WAMPLine.gap(.revoked(reason: nil)) == #"{"gap":"revoked","reason":null}"#)
        #expect(WAMPLine.gap(.dropped(2)) == #"{"gap":"dropped","events":2}"#)
    }

    @Test func `what somebody sends cannot drive a terminal`() {
        #expect(WAMPLine.result(WAMPArguments(["\u{1B}[2J\u{9B}\n"]), isFull: false) == #""\u001b[2J\u009B\n""#)
    }

    @Test func `what JSON cannot say becomes a text about it`() {
        #expect(WAMPLine.result(WAMPArguments([.float(.infinity)]), isFull: false) == #""Infinity""#)
        #expect(WAMPLine.result(WAMPArguments([.extension(type: 5, [0, 255])]), isFull: false) == #""ext(5, h'00ff')""#)
    }
}
