import CodecCore
import Foundation
import Holdfast
import HoldfastCodecs
import Testing

@Suite struct LazyValueTests {
    struct CodecEnvelope: Codable {
        var type: String
        var body: LazyValue
        var id: Int
    }
    struct Trade: Codable, Equatable { var price: Double, at: Date }

    let trade = Trade(price: 189.53, at: Date(timeIntervalSince1970: 1.5))

    @Test(arguments: BinaryCoder.allCases) func `an envelope is decoded before its body, whose type it names`(coder: BinaryCoder) throws {
        struct Written: Codable { var type = "trade", body: Trade, id = 7 }
        let envelope = try coder.decode([CodecEnvelope].self, coder.encode([Written(body: trade)]))[0]
        #expect(envelope.type == "trade" && envelope.id == 7)
        #expect(try envelope.body.decode(as: Trade.self) == trade)
        #expect(try envelope.body.value["price"] == 189.53)
        #expect(throws: DecodingError.self) { try envelope.body.decode(as: Int.self) }
        #expect(try coder.encode([envelope]) == coder.encode([Written(body: trade)]))
    }

    @Test func `a lazy value converts between the formats and Foundation's JSON`() throws {
        let envelope = CodecEnvelope(type: "trade", body: try LazyValue(encoding: trade), id: 1)
        let packed = try BinaryCoder.messagePack.decode(CodecEnvelope.self, BinaryCoder.messagePack.encode(envelope))
        let cbor = try BinaryCoder.cbor.decode(CodecEnvelope.self, BinaryCoder.cbor.encode(packed))
        #expect(try cbor.body.decode(as: Trade.self) == trade)
        #expect(try packed.body.decode(as: Trade.self) == trade)
        let json = try JSONEncoder().encode(CodecEnvelope(type: "n", body: LazyValue(["a": [1, 2.5, nil, true, "x"]]), id: 2))
        let back = try JSONDecoder().decode(CodecEnvelope.self, from: json)
        #expect(try back.body.value == ["a": [1, 2.5, nil, true, "x"]])
        #expect(try back.body.decode(as: [String: [Value]].self) == ["a": [1, 2.5, nil, true, "x"]])
    }

    @Test(arguments: BinaryCoder.allCases) func `a body must be complete`(coder: BinaryCoder) throws {
        let bytes = try coder.encode(["body": [1, 2, 3]])
        #expect(throws: DecodingError.self) { try coder.decode([String: LazyValue].self, Array(bytes.dropLast())) }
    }

    @Test(arguments: BinaryCoder.allCases) func `a generic value is decoded like other types`(coder: BinaryCoder) throws {
        var value: Value = [
            "a": [1, -2, 2.5, nil, true, "x", .bytes([1, 2])], 7: .unsigned(.max), "t": .timestamp(Timestamp(seconds: 5)),
        ]
        value = coder == .cbor ? .array([value, .tagged(9, "q")]) : .array([value, .extension(type: 4, [1, 2, 3])])
        #expect(try coder.roundTrip(["k": value, "l": 1]) == ["k": value, "l": 1])
        #expect(try ValueDecoder().decode(Value.self, from: ValueEncoder().encode(value)) == value)
    }

    @Test func `a value that a format cannot represent is an error with its coding path`() {
        for (coder, value) in [(BinaryCoder.cbor, Value.extension(type: 1, [])), (.messagePack, .tagged(1, 2))] {
            do {
                _ = try coder.encode(["key": value])
                Issue.record("no error")
            } catch EncodingError.invalidValue(_, let context) { #expect(context.codingPath.map(\.stringValue) == ["key"]) } catch {
                Issue.record(error)
            }
        }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(Value.extension(type: 1, [])) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([[[1]: 2]] as Value) }
    }

    @Test func `a generic value survives Foundation's JSON`() throws {
        let value: Value = ["a": [1, -2, 2.5, nil, true, "x", .unsigned(.max), [], [:]]]
        #expect(try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) == value)
        let shown = try String(decoding: JSONEncoder().encode([.bytes([0, 255]), .tagged(3, 4), [5: 6]] as Value), as: UTF8.self)
        #expect(shown == #"["AP8=",4,{"5":6}]"#)
    }

    @Test func `codecs make binary messages and decode messages of any kind`() throws {
        func check(_ codec: some MessageCodec, _ name: String) throws {
            #expect(codec.name == name)
            guard case .binary(let bytes) = try codec.encode(trade) else {
                Issue.record("a text")
                return
            }
            #expect(try bytes.withUnsafeBytes { try codec.decode(Trade.self, from: $0.bytes, .binary) } == trade)
            #expect(try bytes.withUnsafeBytes { try codec.decode(Trade.self, from: $0.bytes, .text) } == trade)
        }
        try check(MessagePackCodec(), "msgpack")
        try check(CBORCodec(), "cbor")
    }

    @Test func `data and spans are decoded like arrays`() throws {
        let bytes = try MessagePackEncoder().encode(trade)
        #expect(try MessagePackDecoder().decode(Trade.self, from: Data([0] + bytes).dropFirst()) == trade)
        #expect(try CBORDecoder().decode(Trade.self, from: Data(CBOREncoder().encode(trade))) == trade)
        #expect(throws: DecodingError.self) { try MessagePackDecoder().decode(Int.self, from: Data()) }
        #expect(throws: DecodingError.self) { try CBORDecoder().decode(Int.self, from: [UInt8]()) }
    }
}
