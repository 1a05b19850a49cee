import Foundation
import RoomCore
import SwiftProtobuf
import Testing

@testable import RoomsWire

private func complaint(_ frame: WireToHub) throws -> FrameError? {
    let bytes: [UInt8] = try frame.serializedBytes()
    do throws(FrameError) { _ = try RoomsEncoding.protobuf.clientFrame(bytes) } catch { return error }
    return nil
}

private func complaint(_ frame: WireToClient) throws -> FrameError? {
    let bytes: [UInt8] = try frame.serializedBytes()
    do throws(FrameError) { _ = try RoomsEncoding.protobuf.hubFrame(bytes) } catch { return error }
    return nil
}

private func pub(_ change: (inout WirePublish) -> Void) -> WireToHub {
    var frame = WireToHub()
    (frame.pub.room, frame.pub.cseq, frame.pub.idHigh, frame.pub.type, frame.pub.body) = ("abc", 1, 1, "x", Data("1".utf8))
    change(&frame.pub)
    return frame
}

private func entry(_ change: (inout WireEntry) -> Void) -> WireToClient {
    var entry = WireEntry()
    (entry.seq, entry.idLow, entry.deviceLow, entry.cseq, entry.user, entry.type, entry.bin) = (1, 1, 1, 1, "u", "x", Data())
    change(&entry)
    var frame = WireToClient()
    (frame.msg.room, frame.msg.epoch, frame.msg.items) = ("abc", 1, [entry])
    return frame
}

@Suite struct RoomsWireProtobufTests {
    @Test func `a frame with a repeated body or very many fields is refused before it is decoded`() throws {
        // Decoding it would take minutes, because each repetition copies the earlier ones.
        let repeated = [UInt8]((0..<262_144).flatMap { _ in [0x0A, 0x02, 0x32, 0x00] as [UInt8] })
        for encoded in [repeated, Array(repeated.prefix(8))] {
            #expect(throws: FrameError(.malformed)) { _ = try RoomsEncoding.protobuf.clientFrame(encoded) }
            #expect(throws: FrameError(.malformed)) { _ = try RoomsEncoding.protobuf.hubFrame(encoded) }
        }
        var hello = WireToHub()
        hello.hello.deviceLow = 1
        hello.hello.joins = [WireJoin](repeating: WireJoin.with { $0.room = "abc" }, count: RoomsLimits.joins)
        #expect(try complaint(hello) == nil)
        hello.hello.joins += [WireJoin](repeating: WireJoin(), count: RoomsLimits.joins)
        #expect(try complaint(hello) == FrameError(.malformed))
    }

    @Test func `both encodings hold the same values`() throws {
        for seed in 1000..<1040 {
            var frames = RandomFrames(seed: UInt64(seed))
            for frame in frames.client() {
                let read = try #require(try RoomsEncoding.json.clientFrame(RoomsEncoding.json.bytes(of: frame)))
                #expect(try RoomsEncoding.protobuf.clientFrame(RoomsEncoding.protobuf.bytes(of: read)) == frame)
            }
            for frame in frames.hub() {
                let read = try #require(try RoomsEncoding.json.hubFrame(RoomsEncoding.json.bytes(of: frame)))
                #expect(try RoomsEncoding.protobuf.hubFrame(RoomsEncoding.protobuf.bytes(of: read)) == frame)
            }
        }
    }

    @Test func `an invalid publication is identified by its room and number`() throws {
        func envelope(_ frame: WireToHub) throws -> PublicationEnvelope? {
            let bytes: [UInt8] = try frame.serializedBytes()
            return bytes.withUnsafeBytes { RoomsEncoding.protobuf.envelope(of: $0, isText: false) }
        }
        for body in ["{", "\"\\ud800\"", "1e999"] {
            let frame = pub { $0.body = Data(body.utf8) }
            #expect(try complaint(frame)?.problem == .invalidValue)
            #expect(try envelope(frame) == PublicationEnvelope(room: try #require(RoomName("abc")), cseq: 1))
        }
        #expect(try envelope(pub { $0.type = "" }) != nil)
        for frame in [pub { $0.room = "" }, pub { $0.cseq = 0 }, WireToHub()] { #expect(try envelope(frame) == nil) }
        #expect(([0xFF] as [UInt8]).withUnsafeBytes { RoomsEncoding.protobuf.envelope(of: $0, isText: false) } == nil)
        #expect(try complaint(entry { $0.body = Data("1e999".utf8) }) == nil, "an old log may hold it")
    }

    @Test func `an invalid presence or signal frame is identified by its room`() throws {
        let room = try #require(RoomName("abc"))
        func envelope(_ change: (inout WireToHub) -> Void) throws -> EphemeralEnvelope? {
            var frame = WireToHub()
            change(&frame)
            let bytes: [UInt8] = try frame.serializedBytes()
            #expect(throws: FrameError.self) { try RoomsEncoding.protobuf.clientFrame(bytes) }
            return bytes.withUnsafeBytes { RoomsEncoding.protobuf.ephemeralEnvelope(of: $0, isText: false) }
        }
        #expect(try envelope { ($0.pres.room, $0.pres.meta) = ("abc", Data("1e999".utf8)) } == EphemeralEnvelope(room: room))
        #expect(try envelope { ($0.sig.room, $0.sig.type, $0.sig.body) = ("abc", "t", Data("{".utf8)) } == EphemeralEnvelope(room: room))
        #expect(try envelope { ($0.sig.room, $0.sig.type) = ("", "t") } == nil)
        #expect(try envelope { $0.join.room = "" } == nil)
    }

    @Test func `a frame of an unknown type is ignored without an error`() throws {
        // Field 99 with two bytes, an empty frame, and a field with a number.
        for bytes in [[0x9A, 0x06, 2, 8, 1], [], [0x98, 0x06, 5]] as [[UInt8]] {
            #expect(try RoomsEncoding.protobuf.clientFrame(bytes) == nil)
            #expect(try RoomsEncoding.protobuf.hubFrame(bytes) == nil)
        }
    }

    @Test func `unknown fields are ignored`() throws {
        // Once in the frame and once in its body.
        #expect(try RoomsEncoding.protobuf.clientFrame([0x98, 0x06, 5, 0x62, 5, 8, 1, 0x98, 0x06, 5]) == .ping(1))
        #expect(try RoomsEncoding.protobuf.hubFrame([0x98, 0x06, 5, 0x72, 5, 8, 1, 0x98, 0x06, 5]) == .pong(1, now: 0))
        var state = WireToClient()
        (state.state.room, state.state.epoch, state.state.rights) = ("abc", 1, 0xFFF1)
        guard case .state(let read) = try RoomsEncoding.protobuf.hubFrame(state.serializedBytes()) else {
            Issue.record("no state")
            return
        }
        #expect(read.rights == .read, "unknown rights are ignored")
    }

    @Test func `bytes that are no Protocol Buffers message are refused`() {
        for bytes in [[0x62], [0x62, 5, 8], [0x62, 1, 0x80], [0], [0x07], [0x22, 3, 0x0A, 1, 0xFF]] as [[UInt8]] {
            #expect(throws: FrameError.self, "\(bytes)") { try RoomsEncoding.protobuf.clientFrame(bytes) }
        }
        #expect(throws: FrameError(.truncated)) { try RoomsEncoding.protobuf.clientFrame([0x62, 5, 8]) }
        #expect(throws: FrameError(.invalidText)) { try RoomsEncoding.protobuf.clientFrame([0x22, 3, 0x0A, 1, 0xFF]) }
    }

    @Test func `an error in a client's frame names the field`() throws {
        #expect(try complaint(pub { _ in }) == nil)
        #expect(try complaint(pub { $0.room = "" }) == FrameError(.missing, field: "room"))
        #expect(try complaint(pub { $0.room = "\n" }) == FrameError(.invalidName, field: "room"))
        #expect(try complaint(pub { $0.cseq = 0 }) == FrameError(.outOfRange, field: "cseq"))
        #expect(try complaint(pub { $0.cseq = 1 << 53 + 1 }) == FrameError(.outOfRange, field: "cseq"))
        #expect(try complaint(pub { $0.at = -1 }) == FrameError(.outOfRange, field: "at"))
        #expect(try complaint(pub { $0.clearIDHigh() }) == FrameError(.missing, field: "id"))
        #expect(try complaint(pub { $0.type = "" }) == FrameError(.missing, field: "type"))
        #expect(try complaint(pub { $0.payload = nil }) == FrameError(.missing, field: "body"))
        #expect(try complaint(pub { $0.body = Data() }) == FrameError(.invalidValue, field: "body"))
        #expect(try complaint(pub { $0.body = Data("1 2".utf8) }) == FrameError(.invalidValue, field: "body"))
        #expect(try complaint(pub { $0.about.seq = 1 }) == FrameError(.missing, field: "about"))
        #expect(try complaint(pub { ($0.about.kind, $0.about.seq) = ("edit", 0) }) == FrameError(.outOfRange, field: "seq"))
        #expect(try complaint(pub { $0.type = String(repeating: "x", count: 65) }) == nil, "the hub refuses such a publication itself")

        var frame = WireToHub()
        frame.hello.v = Array(repeating: 1, count: 65)
        frame.hello.deviceLow = 1
        #expect(try complaint(frame) == FrameError(.tooLong, field: "v"))
        frame.hello.v = [-1]
        #expect(try complaint(frame) == FrameError(.outOfRange, field: "v"))
        frame.hello = WireHello()
        #expect(try complaint(frame) == FrameError(.missing, field: "device"))
        (frame.join.room, frame.join.seq, frame.join.epoch) = ("abc", -1, 1)
        #expect(try complaint(frame) == FrameError(.outOfRange, field: "seq"))
        (frame.pres.room, frame.pres.meta) = ("abc", Data("{".utf8))
        #expect(try complaint(frame) == FrameError(.invalidValue, field: "meta"))
        (frame.sig.room, frame.sig.type, frame.sig.body) = ("abc", "", Data("1".utf8))
        #expect(try complaint(frame) == FrameError(.missing, field: "type"))
    }

    @Test func `an error in a hub's frame names the field`() throws {
        let long = String(repeating: "x", count: 65)
        #expect(try complaint(entry { _ in }) == nil)
        #expect(try complaint(entry { $0.seq = 0 }) == FrameError(.outOfRange, field: "seq"))
        #expect(try complaint(entry { $0.cseq = 0 }) == FrameError(.outOfRange, field: "cseq"))
        #expect(try complaint(entry { $0.clearIDLow() }) == FrameError(.missing, field: "id"))
        #expect(try complaint(entry { $0.clearDeviceLow() }) == FrameError(.missing, field: "device"))
        #expect(try complaint(entry { $0.user = "" }) == FrameError(.missing, field: "user"))
        #expect(try complaint(entry { $0.type = long }) == FrameError(.tooLong, field: "type"))
        #expect(try complaint(entry { $0.payload = nil }) == FrameError(.missing, field: "body"))
        #expect(try complaint(entry { $0.body = Data("tru".utf8) }) == FrameError(.invalidValue, field: "body"))
        var frame = WireToClient()
        frame.msg.room = "abc"
        #expect(try complaint(frame) == FrameError(.missing, field: "epoch"))
        frame.error.retry = .UNRECOGNIZED(9)
        #expect(try complaint(frame) == FrameError(.invalidValue, field: "retry"))
        frame.error = WireRefusal()
        frame.error.text = String(repeating: long, count: 4)
        #expect(try complaint(frame) == FrameError(.tooLong, field: "text"))
        frame.goaway.after = -1
        #expect(try complaint(frame) == FrameError(.outOfRange, field: "after"))
    }
}
