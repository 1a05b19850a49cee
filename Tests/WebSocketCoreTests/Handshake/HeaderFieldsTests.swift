import Testing
import WebSocketCore

/// RFC 9110 §5.
@Suite struct HeaderFieldsTests {
    @Test func `names are case-insensitive, and repeated fields keep their order`() {
        var fields: HeaderFields = ["Set-Cookie": "a", "Via": "x", "set-cookie": "b"]
        #expect(fields["SET-COOKIE"] == "a")
        #expect(fields.values("sEt-cOOkie") == ["a", "b"])
        #expect(fields["cookie"] == nil)
        fields.add("SET-COOKIE", "c")
        #expect(fields.map(\.value) == ["a", "x", "b", "c"])
    }

    @Test func `setting a name replaces all its fields at the position of the first`() {
        var fields: HeaderFields = ["A": "1", "B": "2", "a": "3"]
        fields["a"] = "4"
        #expect(fields == ["a": "4", "B": "2"])
        fields["C"] = "5"
        fields["b"] = nil
        #expect(fields == ["A": "4", "c": "5"])
    }

    @Test func `only ASCII letters are case-folded`() {
        let fields: HeaderFields = ["Upgrade": "webso\u{212A}et", "\u{212A}ey": "x"]
        #expect(!fields.contains("websoket", in: "upgrade"), "the Kelvin sign is not a k")
        #expect(fields["key"] == nil)
    }

    @Test func `list elements of all fields are trimmed and joined, without empty ones`() {
        let fields: HeaderFields = ["Connection": " keep-alive ,,\tUpgrade\t", "connection": "", "CONNECTION": "x"]
        #expect(fields.tokens("Connection") == ["keep-alive", "Upgrade", "x"])
        #expect(fields.contains("upgrade", in: "connection"))
        #expect(!fields.contains("keep", in: "connection"))
    }

    @Test func `credentials do not appear in logs`() {
        let fields: HeaderFields = ["authorization": "Bearer s3cret", "Cookie": "s3cret", "Proxy-Authorization": "s3cret", "Accept": "*/*"]
        let head = RequestHead(target: "/chat?token=s3cret", headers: fields)
        #expect(!"\(fields) \(fields[0]) \(head)".contains("s3cret"))
        #expect(fields.description.contains("Accept: */*"))
    }

    @Test(arguments: [
        ("chat, bearer.s3cr3t", "chat, <hidden>"), (" s3cr3t ,mqtt", "<hidden>, mqtt"), ("chat", "chat"), ("", ""),
        ("chat s3cr3t", "<hidden>"),
    ])
    func `only well-known subprotocols appear in logs`(value: String, shown: String) {
        for name in ["Sec-WebSocket-Protocol", "sec-websocket-protocol"] {
            #expect(HeaderField(name: name, value: value).description == "\(name): \(shown)")
        }
    }
}
