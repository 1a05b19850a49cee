import CodecCore
import MachineCore
import QuotesCore
import Testing

/// The messages of docs/quotes-protocol.md.
@Suite struct QuotesWireTests {
    private static let full = QuotesReply.FullQuote(
        symbol: 12, name: "AAPL",
        state: QuoteState(
            version: 7, figures: QuoteFigures(bid: 1_894_900, ask: 1_895_100, last: 1_895_000, volume: 120, time: 1_795_296_000_000)))
    private static let tick = QuotesReply.Tick(
        symbol: 12, version: 10, fields: [.bid, .last, .time], differences: QuoteFigures(bid: 100, last: 50, time: 40))

    static let requests: [(String, QuotesRequest)] = [
        (#"{"type":"subscribe","id":1,"symbols":["AAPL","BANK*"],"rate":30}"#, .subscribe(id: 1, symbols: ["AAPL", "BANK*"], rate: 30)),
        (#"{"type":"subscribe","id":2,"symbols":["NOSUCH"]}"#, .subscribe(id: 2, symbols: ["NOSUCH"], rate: nil)),
        (#"{"type":"unsubscribe","id":1}"#, .unsubscribe(id: 1)),
        (#"{"type":"resync","round":1}"#, .resync(round: 1)),
    ]
    static let replies: [(String, QuotesReply)] = [
        (#"{"type":"welcome","version":1,"market":20261121,"symbols":500}"#, .welcome(.init(market: 20_261_121, symbols: 500))),
        (
            #"{"type":"snapshot","id":1,"seq":1,"round":0,"last":false,"quotes":"#
                + #"[[12,"AAPL",7,1894900,1895100,1895000,120,1795296000000]]}"#,
            .snapshot(.init(id: 1, sequence: 1, round: 0, isLast: false, quotes: [full]))
        ),
        (
            #"{"type":"ticks","seq":3,"conflated":2,"ticks":[[12,10,21,100,50,40]]}"#,
            .ticks(.init(sequence: 3, conflated: 2, ticks: [tick]))
        ),
        (#"{"type":"ticks","seq":3,"ticks":[]}"#, .ticks(.init(sequence: 3, ticks: []))),
        (
            #"{"type":"error","id":1,"code":"too_many_patterns","message":"101 patterns, at most 100 are allowed"}"#,
            .refusal(.init(id: 1, code: .tooManyPatterns, message: "101 patterns, at most 100 are allowed"))
        ),
        (#"{"type":"error","code":"bad_request","message":"\"?\""}"#, .refusal(.init(code: .badRequest, message: "\"?\""))),
    ]

    @Test(arguments: requests) func `requests have the form in the document`(text: String, request: QuotesRequest) throws {
        #expect(String(decoding: QuotesFormat.json.encode(request), as: UTF8.self) == text)
        for format in [QuotesFormat.json, .messagePack] { #expect(try format.request(format.encode(request)) == request) }
    }

    @Test(arguments: replies) func `replies have the form in the document`(text: String, reply: QuotesReply) throws {
        #expect(String(decoding: QuotesFormat.json.encode(reply), as: UTF8.self) == text)
        for format in [QuotesFormat.json, .messagePack] { #expect(try format.reply(format.encode(reply)) == reply) }
    }

    @Test func `the bytes of MessagePack are those of the document`() {
        let bytes: [UInt8] = [
            0x83, 0xa4, 0x74, 0x79, 0x70, 0x65, 0xa5, 0x74, 0x69, 0x63, 0x6b, 0x73, 0xa3, 0x73, 0x65, 0x71, 0x03,
            0xa5, 0x74, 0x69, 0x63, 0x6b, 0x73, 0x91, 0x96, 0x0c, 0x0a, 0x15, 0x64, 0x32, 0x28,
        ]
        #expect(QuotesFormat.messagePack.encode(.ticks(.init(sequence: 3, ticks: [Self.tick]))) == bytes)
    }

    @Test func `white space, other orders of keys, and unknown keys are accepted`() throws {
        let text = """
             { "type" : "ticks" , "new" : {"a":[1,{"b":"]"}],"c":null} , "ticks" : [ [ 12 , 10 , 21 , 100 , 50 , 40 ] ] , "seq" : 3 }
            """
        #expect(try QuotesFormat.json.reply(Array(text.utf8)) == .ticks(.init(sequence: 3, ticks: [Self.tick])))
    }

    @Test(arguments: [#"{"type":"news","text":"x"}"#, #"{"type":"news"}"#, #"{"type":"news","seq":[{}]}"#])
    func `an unknown type is ignored`(text: String) throws {
        #expect(try QuotesFormat.json.reply(Array(text.utf8)) == nil)
        #expect(try QuotesFormat.json.request(Array(text.utf8)) == nil)
    }

    @Test func `numbers are those that every language can represent`() throws {
        for number in [0, 1, -1, 127, 128, -32, -33, 65_536, QuoteFigures.maximum, -QuoteFigures.maximum] as [Int64] {
            for format in [QuotesFormat.json, .messagePack] {
                #expect(try format.request(format.encode(.resync(round: number))) == .resync(round: number))
            }
        }
        for number in [QuoteFigures.maximum + 1, -QuoteFigures.maximum - 1, .max, .min] {
            for format in [QuotesFormat.json, .messagePack] {
                #expect(throws: CodecError.self) { try format.request(format.encode(.resync(round: number))) }
            }
        }
    }

    @Test(arguments: [
        "", "[]", "7", "{}", #"{"seq":1,"type":"ticks","ticks":[]}"#, #"{"type":"ticks","ticks":[]}"#, #"{"type":"ticks","seq":1}"#,
        #"{"type":"ticks","seq":1.5,"ticks":[]}"#, #"{"type":"ticks","seq":1e3,"ticks":[]}"#, #"{"type":"ticks","seq":01,"ticks":[]}"#,
        #"{"type":"ticks","seq":-,"ticks":[]}"#, #"{"type":"ticks","seq":"1","ticks":[]}"#, #"{"type":"ticks","seq":1,"ticks":[1]}"#,
        #"{"type":"ticks","seq":1,"ticks":[[1,1]]}"#, #"{"type":"ticks","seq":1,"ticks":[[1,1,1]]}"#,
        #"{"type":"ticks","seq":1,"ticks":[[1,1,1,1,1]]}"#, #"{"type":"ticks","seq":1,"ticks":[[1,1,32]]}"#,
        #"{"type":"ticks","seq":1,"ticks":[[1,1,-1]]}"#, #"{"type":"ticks","seq":1,"ticks":[[-1,1,0]]}"#,
        #"{"type":"ticks","seq":1,"ticks":[[4294967296,1,0]]}"#, #"{"type":"ticks","seq":1,"ticks":[[1,1,0],]}"#,
        #"{"type":"ticks","seq":1,"ticks":[[1,1,0]}"#, #"{"type":"ticks","seq":1,"ticks":[]}{}"#, #"{"type":"ticks","seq":1 "ticks":[]}"#,
        #"{"type":"welcome","version":1,"market":1}"#, #"{"type":"snapshot","id":1,"seq":1,"round":0,"quotes":[]}"#,
        #"{"type":"snapshot","id":1,"seq":1,"round":0,"last":1,"quotes":[]}"#,
        #"{"type":"snapshot","id":1,"seq":1,"round":0,"last":true,"quotes":[[1,2,1,1,1,1,1,1]]}"#, #"{"type":"error","message":"x"}"#,
    ])
    func `an invalid reply is an error`(text: String) {
        #expect(throws: CodecError.self) { try QuotesFormat.json.reply(Array(text.utf8)) }
    }

    @Test func `a message with too many ticks is an error, and a false count does not allocate memory`() {
        let tick = QuotesReply.Tick(symbol: 0, version: 1, fields: [], differences: QuoteFigures())
        let reply = QuotesReply.ticks(.init(sequence: 1, ticks: Array(repeating: tick, count: 10_001)))
        for format in [QuotesFormat.json, .messagePack] { #expect(throws: CodecError.self) { try format.reply(format.encode(reply)) } }
        var message = QuotesFormat.messagePack.encode(.ticks(.init(sequence: 1, ticks: [])))
        message.removeLast()
        #expect(throws: CodecError.self) { try QuotesFormat.messagePack.reply(message + [0xdd, 0xff, 0xff, 0xff, 0xff]) }
    }

    @Test func `decoding a truncated or changed message ends without a trap`() {
        for (_, reply) in Self.replies {
            for format in [QuotesFormat.json, .messagePack] {
                let bytes = format.encode(reply)
                for end in 0..<bytes.count { #expect(throws: CodecError.self) { try format.reply(Array(bytes[..<end])) } }
                for place in bytes.indices {
                    for value in UInt8.min ... .max {
                        var changed = bytes
                        changed[place] = value
                        // A message that can still be decoded can be encoded, and is then the same.
                        guard let read = try? format.reply(changed) else { continue }
                        #expect((try? format.reply(format.encode(read))) == read)
                    }
                }
            }
        }
    }
}

extension QuotesFormat {
    fileprivate func request(_ bytes: [UInt8]) throws -> QuotesRequest? { try bytes.withUnsafeBytes { try request(from: $0.bytes) } }
    fileprivate func reply(_ bytes: [UInt8]) throws -> QuotesReply? { try bytes.withUnsafeBytes { try reply(from: $0.bytes) } }
}
