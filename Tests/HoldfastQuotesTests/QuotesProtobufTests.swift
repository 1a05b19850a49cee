import Holdfast
import HoldfastQuotes
import QuotesCore
import Testing
import WebSocketCore

/// The quotes messages in Protocol Buffers.
@Suite struct QuotesProtobufTests {
    private static let codec = QuotesCodec(.protobuf)
    private static let state = QuoteState(version: 7, figures: QuoteFigures(bid: 1, ask: 2, last: 3, volume: 4, time: QuoteFigures.maximum))
    private static let tick = QuotesReply.Tick(
        symbol: 12, version: 10, fields: [.bid, .last, .time], differences: QuoteFigures(bid: 100, last: 50, time: 40))
    static let replies: [QuotesReply] = [
        .welcome(.init(market: 20_261_121, symbols: 500)),
        .snapshot(
            .init(id: 1, sequence: 2, round: 3, isLast: true, quotes: [.init(symbol: 4, name: "SAIL", state: state)])),
        .snapshot(.init(id: 0, sequence: 1, round: 0, isLast: false, quotes: [])),
        .ticks(
            .init(
                sequence: 9, conflated: 5,
                ticks: [tick, .init(symbol: 0, version: 2, fields: .volume, differences: QuoteFigures(volume: -7))])),
        .ticks(.init(sequence: 9, ticks: [.init(symbol: 0, version: 2, fields: [], differences: QuoteFigures())])),
        .refusal(.init(id: 3, code: .badPattern, message: "no")), .refusal(.init(code: .badRequest, message: "")),
    ]
    static let requests: [QuotesRequest] = [
        .subscribe(id: 1, symbols: ["A", "B*"], rate: 30), .subscribe(id: 0, symbols: [], rate: 0),
        .subscribe(id: 1 << 32, symbols: ["A"], rate: nil), .unsubscribe(id: 4), .resync(round: 5),
    ]

    @Test(arguments: replies) func `a reply is decoded as it was encoded`(reply: QuotesReply) throws {
        #expect(try Self.codec.decode(Self.codec.encode(reply)) == reply)
    }

    @Test(arguments: requests) func `a request is decoded as it was encoded`(request: QuotesRequest) throws {
        #expect(try Self.codec.request(from: Self.codec.encode(request)) == request)
    }

    @Test func `the bytes of ticks are those of the document`() {
        let bytes: [UInt8] = [
            0x1a, 0x11, 0x08, 0x03, 0x1a, 0x01, 0x0c, 0x22, 0x01, 0x0a, 0x2a, 0x01, 0x15, 0x32, 0x04, 0xc8, 0x01, 0x64, 0x50,
        ]
        #expect(Self.codec.encode(.ticks(.init(sequence: 3, ticks: [Self.tick]))) == .binary(bytes))
    }

    @Test func `an unknown body is ignored`() throws {
        #expect(try Self.codec.decode(.binary([])) == nil)
        #expect(try Self.codec.decode(.binary([0x7a, 0x01, 0x00])) == nil)
        #expect(try Self.codec.request(from: .binary([])) == nil)
    }

    @Test(arguments: [
        "1a05 0803 1a010c",  // a column of symbols only
        "1a0b 0803 1a010c 22010a 2a0101",  // a mask without a difference
        "1a0e 0803 1a010c 22010a 2a0100 320102",  // one difference too many
        "1a0b 0803 1a010c 22010a 2a0120",  // an undefined bit
        "1a0b 08ffffffffffffffffff01",  // a number out of range
    ])
    func `columns of different lengths are an error`(hex: String) {
        let digits = hex.filter { $0 != " " }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) }
        #expect(throws: (any Error).self) { try Self.codec.decode(.binary(bytes)) }
    }

    @Test func `a message of the wrong kind is an error`() {
        #expect(throws: (any Error).self) { try Self.codec.decode(.text("")) }
        #expect(throws: (any Error).self) { try QuotesCodec(.messagePack).decode(.text("{}")) }
        #expect(throws: (any Error).self) { try QuotesCodec(.json).decode(.binary(Array(#"{"type":"x"}"#.utf8))) }
    }

    @Test(arguments: replies) func `decoding a truncated or changed message ends without a trap`(reply: QuotesReply) throws {
        guard case .binary(let bytes) = Self.codec.encode(reply) else { return }
        for end in bytes.indices { _ = try? Self.codec.decode(.binary(Array(bytes[..<end]))) }
        for place in bytes.indices {
            for value in UInt8.min ... .max {
                var changed = bytes
                changed[place] = value
                guard let read = try? Self.codec.decode(.binary(changed)) else { continue }
                #expect(try Self.codec.decode(Self.codec.encode(read)) == read)
            }
        }
    }

    @Test func `the first encoding that the client offers and the server knows is selected`() {
        #expect(QuotesEncoding.agreed(on: ["chat", "holdfast.quotes.v1.msgpack", "holdfast.quotes.v1.json"]) == .messagePack)
        #expect(QuotesEncoding.agreed(on: ["holdfast.quotes.v2.json"]) == nil)
        for encoding in QuotesEncoding.allCases { #expect(QuotesEncoding(subprotocol: encoding.subprotocol) == encoding) }
    }
}
