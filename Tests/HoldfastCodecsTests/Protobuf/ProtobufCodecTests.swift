import HoldfastProtobuf
import SwiftProtobuf
import Testing
import WebSocketCore

@Suite struct ProtobufCodecTests {
    @Test func `a value survives a round trip as a binary message`() throws {
        let codec = ProtobufCodec()
        let message = try codec.encode(ProtoOrder.sample)
        #expect(message == .binary([8, 7, 18, 4, 83, 65, 73, 76, 26, 4, 8, 19, 16, 5]))
        #expect(try decoded(message, codec) == .sample)
        #expect(codec.name == "protobuf")
    }

    @Test func `the JSON mapping gives a text message`() throws {
        let codec = ProtobufCodec(.json)
        let message = try codec.encode(ProtoOrder.sample)
        #expect(message == .text(#"{"id":"7","symbol":"SAIL","fills":[{"price":"-10","size":5}]}"#))
        #expect(try decoded(message, codec) == .sample)
        #expect(codec.name == "json")
    }

    @Test func `both forms are decoded, whichever the codec encodes`() throws {
        #expect(try decoded(ProtobufCodec(.json).encode(ProtoOrder.sample), ProtobufCodec(.binary)) == .sample)
        #expect(try decoded(ProtobufCodec(.binary).encode(ProtoOrder.sample), ProtobufCodec(.json)) == .sample)
    }

    @Test func `unknown fields are kept in the binary format and ignored in JSON`() throws {
        let unknown: [UInt8] = [8, 7, 0x98, 0x06, 1]
        let order = try decoded(.binary(unknown), ProtobufCodec())
        #expect(order.id == 7)
        #expect(try ProtobufCodec().encode(order) == .binary(unknown))
        #expect(try decoded(.text(#"{"id":7,"colour":"red"}"#), ProtobufCodec()).id == 7)
    }

    @Test(
        arguments: [
            .binary([]), .binary([8]), .binary([8, 7, 18, 200, 83]), .binary([8, 7, 18, 1, 0xFF]), .binary([0xFF]), .text(""), .text("{"),
            .text(#"{"symbol":"SAIL"}"#), .text(#"{"id":-1}"#),
        ] as [WebSocketCore.Message])
    func `a truncated or invalid message, or one without a required field, is an error`(message: WebSocketCore.Message) {
        #expect(throws: (any Error).self) { try decoded(message, ProtobufCodec()) }
    }

    @Test func `a value without a required field cannot be encoded`() {
        for codec in [ProtobufCodec(), ProtobufCodec(.json)] {
            #expect(throws: (any Error).self) { try codec.encode(ProtoFill()) }
        }
    }

    @Test(arguments: [ProtobufCodec.Form.binary, .json])
    func `nested messages are decoded to a depth of a hundred`(form: ProtobufCodec.Form) throws {
        let codec = ProtobufCodec(form)
        #expect(throws: Never.self) { try decoded(codec.encode(ProtoOrder.replacing(depth: 99)), codec) }
        #expect(throws: (any Error).self) { try decoded(codec.encode(ProtoOrder.replacing(depth: 101)), codec) }
    }

    @Test func `changed and truncated bytes cause no trap`() throws {
        for codec in [ProtobufCodec(), ProtobufCodec(.json)] {
            let message = try codec.encode(ProtoOrder.sample)
            let (bytes, kind) = message.withBytes { ([UInt8]($0), message.kind) }
            for place in bytes.indices {
                read(Array(bytes[..<place]), kind)
                for byte in UInt8.min ... .max {
                    var broken = bytes
                    broken[place] = byte
                    read(broken, kind)
                }
            }
        }
    }

    /// Decodes and ignores the result; a trap would end the test.
    private func read(_ bytes: [UInt8], _ kind: MessageKind) {
        _ = try? bytes.withUnsafeBytes { try ProtobufCodec().decode(ProtoOrder.self, from: $0.bytes, kind) }
    }
}

func decoded(_ message: WebSocketCore.Message, _ codec: ProtobufCodec) throws -> ProtoOrder {
    try message.withBytes { try codec.decode(ProtoOrder.self, from: $0.bytes, message.kind) }
}

extension ProtoOrder {
    static let sample = ProtoOrder.with { order in
        order.id = 7
        order.symbol = "SAIL"
        order.fills = [
            .with {
                $0.price = -10
                $0.size = 5
            }
        ]
    }

    /// An order that replaced another, and so on to this depth.
    static func replacing(depth: Int) -> ProtoOrder {
        var order = ProtoOrder.with { $0.id = 0 }
        for id in 1..<UInt64(depth) {
            let inner = order
            order = .with {
                $0.id = id
                $0.replaced = inner
            }
        }
        return order
    }
}
