import HoldfastTesting
import MachineCore
import Testing
import WebSocketCore

@testable import Holdfast

/// The text that `print` shows of states, events and messages.
@Suite struct DescriptionTests {
    private let error = WebSocketError(TransportError(.unreachable, "connection refused"))

    @Test func `messages show their kind, their length and their first bytes`() {
        #expect("\(Message.text("hello"))" == #"text, 5 bytes: "hello""#)
        #expect("\(Message.text("\u{1B}[2J\"\n\u{202E}"))" == #"text, 9 bytes: "\u{1b}[2J\"\u{a}\u{202e}""#)
        #expect("\(Message.text(String(repeating: "a", count: 100)))" == "text, 100 bytes: \"\(String(repeating: "a", count: 64))\" …")
        #expect("\(Message.binary([0, 255, 16]))" == "binary, 3 bytes: 00 ff 10")
        #expect("\(Message.binary([]))" == "binary, 0 bytes")
        #expect("\(Message.binary(Array(0...99)))" == "binary, 100 bytes: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f …")
        for count in 60...70 { #expect("\(Message.text(String(repeating: "é", count: count)))".hasPrefix("text, \(2 * count) bytes")) }
    }

    @Test(
        arguments: [
            (.zero, "0 µs"), (.microseconds(850), "850 µs"), (.milliseconds(12), "12 ms"), (.microseconds(999_600), "1 s"),
            (.milliseconds(1300), "1.3 s"), (.nanoseconds(1_249_999_999), "1.2 s"), (.milliseconds(9960), "10 s"), (.seconds(42), "42 s"),
            (.seconds(180), "3 min"), (.seconds(5 * 3600), "5 h"), (.seconds(-2), "-2 s"),
        ] as [(Duration, String)])
    func `durations are rounded`(duration: Duration, words: String) { #expect(duration.words == words) }

    @Test func `the longest durations have a text too`() {
        #expect(Duration.seconds(Int64.max).words.hasSuffix(" h") && Duration.seconds(Int64.min + 1).words.hasPrefix("-"))
    }

    @Test func `states are described in plain words`() {
        let states: [(WebSocketState, String)] = [
            (.disconnected(nil), "disconnected"), (.disconnected(error), "disconnected: \(error)"), (.connecting(attempt: 1), "connecting"),
            (.connecting(attempt: 3), "connecting, attempt 3"), (.connected(since: .now - .seconds(42)), "connected for 42 s"),
            (.waiting(until: .now - .seconds(1), cause: error), "waiting: next attempt in 0 µs, cause: \(error)"), (.closing, "closing"),
            (.held, "held: the app is in the background, or there is no network"), (.closed(nil), "closed"),
            (.closed(error), "closed: \(error)"),
        ]
        for (state, words) in states { #expect("\(state)" == words) }
    }

    @Test func `events are described in plain words`() {
        let dropped = DroppedSend(message: .text("a"), lane: .normal, refusal: .timedOut)
        let events: [(WebSocketEvent, String)] = [
            (.message(.text("a")), #"message: text, 1 byte: "a""#),
            (.reconnecting(attempt: 2, delay: .milliseconds(1300), cause: error), "reconnecting: attempt 2 in 1.3 s, cause: \(error)"),
            (.dropped(dropped), #"dropped: timedOut, text, 1 byte: "a""#), (.state(.closing), "state: closing"),
            (.missed(3), "missed: 3 events"),
            (
                .undecodable(UndecodableMessage(message: .text("a"), type: "Tick", error: error)),
                #"undecodable: not a Tick, text, 1 byte: "a""#
            ),
            (.closed(Closure(error: error)), "closed: \(error)"), (.closed(Closure()), "closed: without an error"),
        ]
        for (event, words) in events { #expect("\(event)" == words) }
    }
}
