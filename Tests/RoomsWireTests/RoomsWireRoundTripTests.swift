import RoomCore
import RoomsWire
import Testing
import WebSocketCore

@Suite struct RoomsWireRoundTripTests {
    @Test(arguments: RoomsEncoding.allCases)
    func `a frame of every kind is decoded as it was encoded`(encoding: RoomsEncoding) throws {
        for seed in 0..<40 {
            var frames = RandomFrames(seed: UInt64(seed))
            for frame in frames.client() { #expect(try encoding.clientFrame(encoding.bytes(of: frame)) == frame) }
            for frame in frames.hub() { #expect(try encoding.hubFrame(encoding.bytes(of: frame)) == frame) }
        }
    }

    @Test(arguments: RoomsEncoding.allCases)
    func `decoding a truncated frame fails or gives a smaller frame, but never traps`(encoding: RoomsEncoding) throws {
        for seed in 0..<3 {
            var frames = RandomFrames(seed: UInt64(seed))
            let (client, hub) = (frames.client().map { encoding.bytes(of: $0) }, frames.hub().map { encoding.bytes(of: $0) })
            for bytes in client {
                for length in bytes.indices {
                    let frame = try? encoding.clientFrame(Array(bytes[..<length]))
                    // A truncated Protocol Buffers message may be valid. Truncated JSON is never valid.
                    if encoding == .json { #expect(frame == nil) }
                }
            }
            for bytes in hub {
                for length in bytes.indices {
                    let frame = try? encoding.hubFrame(Array(bytes[..<length]))
                    if encoding == .json { #expect(frame == nil) }
                }
            }
        }
    }

    @Test func `JSON frames are text messages, and Protocol Buffers frames are binary messages`() throws {
        #expect(RoomsEncoding.json.encode(ClientFrame.ping(1)) == .text(#"{"t":"ping","n":1}"#))
        #expect(RoomsEncoding.json.encode(HubFrame.pong(1, now: 2)) == .text(#"{"t":"pong","n":1,"now":2}"#))
        #expect(RoomsEncoding.protobuf.encode(ClientFrame.ping(1)) == .binary([0x62, 2, 8, 1]))
        #expect(RoomsEncoding.protobuf.encode(HubFrame.pong(1, now: 2)) == .binary([0x72, 4, 8, 1, 16, 2]))
        for encoding in RoomsEncoding.allCases {
            #expect(try encoding.decodeClientFrame(encoding.encode(ClientFrame.ping(7))) == .ping(7))
            #expect(try encoding.decodeHubFrame(encoding.encode(HubFrame.pong(7, now: 8))) == .pong(7, now: 8))
        }
        let wrong = FrameError(.wrongMessage)
        #expect(throws: wrong) { try RoomsEncoding.json.decodeClientFrame(.binary(Array(#"{"t":"ping"}"#.utf8))) }
        #expect(throws: wrong) { try RoomsEncoding.json.decodeHubFrame(.binary([])) }
        #expect(throws: wrong) { try RoomsEncoding.protobuf.decodeClientFrame(.text("")) }
        #expect(throws: wrong) { try RoomsEncoding.protobuf.decodeHubFrame(.text("")) }
    }

    @Test func `each subprotocol has its encoding`() {
        #expect(RoomsEncoding(subprotocol: "holdfast.rooms.v1.json") == .json)
        #expect(RoomsEncoding(subprotocol: "holdfast.rooms.v1.protobuf") == .protobuf)
        #expect(RoomsEncoding(subprotocol: "holdfast.rooms.v2.json") == nil)
    }
}
