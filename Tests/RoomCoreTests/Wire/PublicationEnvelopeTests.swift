import RoomCore
import Testing

/// Reads room and number of an invalid publication, so that the hub can refuse it alone.
@Suite struct PublicationEnvelopeTests {
    private func envelope(_ json: String) -> PublicationEnvelope? {
        Array(json.utf8).withUnsafeBytes { bytes in PublicationEnvelope(json: bytes) }
    }
    private func isFrame(_ json: String) -> Bool {
        Array(json.utf8).withUnsafeBytes { bytes in ((try? ClientFrame.decode(json: bytes)) ?? nil) != nil }
    }
    private let lobby = PublicationEnvelope(room: .lobby, cseq: 8)
    private static let id = "01937a3e-7c1b-7000-8000-000000000001"
    private static let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)

    @Test(arguments: [
        #""type":"","body":1"#, #""type":"t","body":\#(deep)"#, #""type":"t""#, #""body":1"#, #""type":7,"body":1"#,
        #""type":"t","bin":"?""#,
        #""type":"t","body":1,"id":"x""#, #""type":"t","body":1,"at":-1"#, #""type":"t","body":1,"about":{}"#,
        #""type":"t","body":1,"void":0"#,
        #""type":"t","body":"\ud800""#, #""type":"t","body":"\udc00\ud800""#, #""type":"t","body":"\ud800\u0041""#,
        #""type":"t","body":1e999"#,
        #""type":"t","body":[-1.8e308]"#, #""type":"t","body":1,"new":{"\ud800":1}"#, #""type":"t","body":nul"#, #""type":"t","body":"#,
        #""type":"t","body":1}}"#,
    ])
    func `an invalid publication is identified by its room and number`(fields: String) {
        let json = #"{"t":"pub","room":"lobby","cseq":8,"id":"\#(Self.id)",\#(fields)}"#
        #expect(!isFrame(json) && envelope(json) == lobby)
    }

    @Test func `fields may come in any order, and the last of repeated fields counts`() {
        #expect(envelope(#"{"type":"","body":\#(Self.deep),"cseq":8,"room":"lobby","t":"pub"}"#) == lobby)
        #expect(envelope(#"{"t":"sig","cseq":7,"room":"other","t":"pub","cseq":8,"room":"lobby"}"#) == lobby)
        #expect(envelope(#"{"body":'x',"y":1_000,"cseq":8,"room":"lobby","t":"pub"}"#) == lobby)
        #expect(envelope(#" { "t" : "p\u0075b" , "x" : [ { } , null ] , "room" : "lobby" , "cseq" : 8 } "#) == lobby)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"t":"pub","room":"lobby"}"#, #"{"t":"pub","cseq":8}"#, #"{"room":"lobby","cseq":8}"#,
        #"{"t":"sig","room":"lobby","cseq":8}"#, #"{"t":"pub","room":"","cseq":8}"#, #"{"t":"pub","room":7,"cseq":8}"#,
        #"{"t":"pub","room":"lobby","cseq":0}"#, #"{"t":"pub","room":"lobby","cseq":"8"}"#, #"{"t":"pub","room":"lobby","cseq":1e3}"#,
        #"{"t":"pub","room":"lobby","cseq":9007199254740992}"#, #"{"t":"pub","room":"lobby",}"#,
        #"{"t":"pub","room":"lobby","body":],"cseq":8}"#,
        #"{"t":"pub","room":"lobby","cseq":8,"cseq":null}"#,
    ])
    func `a frame without room and number has no envelope`(json: String) { #expect(envelope(json) == nil) }

    @Test func `numbers of the protocol are below 2 to the 53`() {
        #expect(isFrame(#"{"t":"ping","n":9007199254740991}"#) && !isFrame(#"{"t":"ping","n":9007199254740992}"#))
        let room = RoomName.lobby
        #expect(PublicationEnvelope(room: room, cseq: (1 << 53) - 1) != nil && PublicationEnvelope(room: room, cseq: 1 << 53) == nil)
    }

    @Test func `numbers are those of a Double, in every notation`() {
        let nines = String(repeating: "9", count: 400)
        for json in [
            "1e308", "1.7976931348623157e308", "-1.7976931348623157E+308", "0.00017976931348623157e312", "1e-999", "0e999",
            "-0.0e99999999999999",
            String(nines.prefix(308)), "\(nines)e-100", "0.\(nines)", "0.\(String(repeating: "0", count: 400))1e700",
            "1797693134862315708\(String(repeating: "0", count: 290))",
        ] { #expect(Payload(json: Array(json.utf8)) != nil, "\(json)") }
        for json in [
            "1e309", "1.8e308", "-1.7976931348623160e308", nines, "1e99999999999999999999", "0.0001e313", "\(nines)e-91",
            "1797693134862315908\(String(repeating: "0", count: 290))",
        ] { #expect(Payload(json: Array(json.utf8)) == nil, "\(json)") }
    }

    @Test func `white space around a value is ignored`() {
        #expect(Payload(json: Array("\t [1, 2]\r\n".utf8)) == .json(Array("[1, 2]".utf8)))
        #expect(Payload(json: Array(" 1 2 ".utf8)) == nil)
        #expect(Payload(json: Array(" ".utf8)) == nil)
    }

    @Test func `a character beyond U+FFFF is two surrogates in order`() {
        for json in [#""\ud83d\ude00""#, #""\uD83D\uDE00x""#, #""\u00e9\\ud800""#] {
            #expect(Payload(json: Array(json.utf8)) != nil, "\(json)")
        }
        for json in [#""\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\ud83d""#, #""\ude00""#, #""\ud83d\u12"# + "\""] {
            #expect(Payload(json: Array(json.utf8)) == nil, "\(json)")
        }
    }

    @Test func `invalid escapes and numbers that an old log may hold are still read in a hub frame`() {
        let json = #"{"t":"sig","room":"lobby","user":"ann","conn":"c","type":"t","body":["\ud800",1e999]}"#
        let frame = Array(json.utf8).withUnsafeBytes { bytes in (try? HubFrame.decode(json: bytes)) ?? nil }
        #expect(frame != nil)
    }

    // MARK: Presence and signals

    @Test(arguments: [
        #"{"t":"pres","room":"lobby","status":7}"#, #"{"t":"pres","room":"lobby","meta":1e999}"#, #"{"t":"sig","room":"lobby","type":"t"}"#,
        #"{"t":"sig","room":"lobby","type":"t","body":\#(deep)}"#, #"{"t":"sig","room":"lobby","cseq":8,"body":"\ud800"}"#,
        #"{"t":"typ","room":"lobby","on":7}"#, #"{"t":"pres","room":"lobby","status":"#,
    ])
    func `an invalid presence or signal frame is identified by its room`(json: String) {
        let read = Array(json.utf8).withUnsafeBytes { bytes in EphemeralEnvelope(json: bytes) }
        #expect(!isFrame(json) && read == EphemeralEnvelope(room: .lobby) && envelope(json) == nil)
    }

    @Test(arguments: [
        "", "[]", #"{"t":"pres"}"#, #"{"t":"pres","room":""}"#, #"{"t":"pub","room":"lobby","cseq":8}"#, #"{"t":"join","room":"lobby"}"#,
        #"{"room":"lobby"}"#,
    ])
    func `other frames have no such envelope`(json: String) {
        #expect(Array(json.utf8).withUnsafeBytes { bytes in EphemeralEnvelope(json: bytes) } == nil)
    }
}
