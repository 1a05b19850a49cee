import Testing
import WebSocketCore

/// Excerpts of messages for logs.
@Suite struct MessageExcerptTests {
    private func start(_ message: Message, _ limit: Int = 10, _ secrets: [String] = []) -> String {
        MessageExcerpt(of: message, limit: limit, hiding: KnownSecrets(secrets)).start
    }

    @Test func `text is cut at a character's end and escaped`() {
        #expect(start(.text("0123456789")) == "\"0123456789\"")
        #expect(start(.text("0123456789a")) == "\"0123456789\" …")
        #expect(start(.text("012345678éa")) == "\"012345678\" …")
        #expect(start(.text("a\nb\"\\\u{202E}")) == #""a\u{a}b\"\\\u{202e}""#)
        #expect(start(.text("")) == "\"\"")
    }

    @Test func `bytes are shown in hexadecimal`() {
        #expect(start(.binary([0, 15, 255])) == "00 0f ff")
        #expect(start(.binary([UInt8](repeating: 1, count: 11))) == "\(Array(repeating: "01", count: 10).joined(separator: " ")) …")
        #expect(start(.binary([])) == "")
    }

    @Test func `a secret that crosses the limit is hidden completely, and one behind the limit is not shown`() {
        #expect(start(.text("01234567s3same-0pen and more"), 10, ["s3same-0pen"]) == "\"01234567<hidden>\" …")
        #expect(start(.text("0123456789s3same-0pen"), 10, ["s3same-0pen"]) == "\"0123456789\" …")
        #expect(start(.binary([1, 2] + "s3same".utf8 + [3]), 10, ["s3same"]) == "01 02 <hidden> 03")
        #expect(start(.text("s3same"), 10, ["s3same"]) == "\"<hidden>\"")
    }

    @Test func `descriptions and dumps of a message hide values with secret names`() {
        let login = Message.text(#"{"type":"connection_init","payload":{"authToken":"hush"}}"#)
        var dumped = ""
        dump(login, to: &dumped)
        #expect(login.description == #"text, 57 bytes: "{\"type\":\"connection_init\",\"payload\":{\"authToken\":<hidden>}}""#)
        #expect(!dumped.contains("hush") && dumped.contains("connection_init"))
        let bytes = Message.binary([0xA8] + "password".utf8 + [0xA4] + "hush".utf8)
        #expect(bytes.description == "binary, 14 bytes: a8 70 61 73 73 77 6f 72 64 <hidden>")
    }
}
