import MachineCore
import Testing

/// Which texts are secret, and how they are shown.
@Suite struct SecrecyTests {
    @Test(arguments: [
        ("server", "nginx", "nginx"), ("x-api-key", "s3same", "<hidden>"), ("x-made-up", "s3same", "<hidden>"),
        ("cookie", "a=b", "<hidden>"),
        ("location", "/login?t=s3same", "/login?…"), ("location", "wss://tim:s3same@a.example/", "<hidden>"), ("location", "/a", "/a"),
        ("www-authenticate", "Bearer realm=\"s3same\"", "Bearer …"), ("www-authenticate", "Negotiate", "Negotiate"),
    ])
    func `a header field is shown only if its name is known to be public`(name: String, value: String, shown: String) {
        #expect(Secrecy.value(value, of: name) == shown)
    }

    @Test(arguments: ["password", "userPassword", "PASS", "access_token", "x-api-key", "Set-Cookie", "client.secret", "authextra"])
    func `secret names are recognized`(name: String) { #expect(Secrecy.isSecret(name.utf8)) }

    @Test(arguments: ["price", "author", "compass", "authid", "authmethods", "passenger", "key", ""])
    func `other names are not secret`(name: String) { #expect(!Secrecy.isSecret(name.utf8)) }

    @Test(arguments: [
        (#"{"password":"hush","n":1}"#, #"{"password":<hidden>,"n":1}"#), (#"{"token" : "a\"b", "n":1}"#, #"{"token" : <hidden>, "n":1}"#),
        (#"{"pin":1234}"#, #"{"pin":<hidden>}"#), (#"{"auth":{"user":"x"}}"#, #"{"auth":<hidden>"#),
        (#"{"token":"cut o"#, #"{"token":<hidden>"#), ("user=tim&password=hush&n=1", "user=tim&password=<hidden>&n=1"),
        ("passcode:hush\nlogin:tim\n", "passcode:<hidden>\nlogin:<hidden>\n"),
        ("Authorization: Bearer hush, and more\r\nHost: a", "Authorization: <hidden>\r\nHost: a"),
        (#"{"body":"{\"token\":\"hush\",\"n\":1}"}"#, #"{"body":"{\"token\":<hidden>,\"n\":1}"}"#),
        (#"["ticket","price"]"#, #"["ticket","price"]"#), ("token", "token"), ("token:", "token:"), ("", ""), ("a: 1", "a: 1"),
    ])
    func `the value of a secret name is hidden in a text`(text: String, shown: String) { #expect(Secrecy.hidingAnnounced(text) == shown) }

    @Test(arguments: [
        (#"Authorization: Token token="hush", n="hush""#, #"Authorization: <hidden>"#),
        (#"Cookie: sid="hush"; b=hush"#, "Cookie: <hidden>"),
        ("Cookie: sid=\"hush\"\r\nHost: a", "Cookie: <hidden>\r\nHost: a"),
        ("Cookie: a=1;\r\n b=hush\r\nHost: a", "Cookie: <hidden>\r\nHost: a"),
        (#"Authorization: Digest user = 'tim', response='hush'"#, "Authorization: <hidden>"),
        (#"{"line":"Authorization: Token token=\"hush\", b=\"hush\"","n":1}"#, #"{"line":"Authorization: <hidden>","n":1}"#),
        (#"Cookie: "a"="b"; c=hush"#, "Cookie: <hidden>"), (#"password: my "so" hush"#, "password: <hidden>"),
        ("password=it's hush&n=1", "password=<hidden>&n=1"),
        ("passcode:hu}sh\nn:1", "passcode:<hidden>\nn:1"), (#"passcode:a"hush\nn:1"#, "passcode:<hidden>"),
    ])
    func `quotes and braces within a value do not reveal the rest of it`(text: String, shown: String) {
        #expect(Secrecy.hidingAnnounced(text) == shown)
    }

    @Test(arguments: [
        (#"{\\\"password\\\":\\\"hush\\\",\\\"n\\\":1}"#, #"{\\\"password\\\":<hidden>,\\\"n\\\":1}"#),
        (#"{\"token\":\"a\\\"hush\",\"n\":1}"#, #"{\"token\":<hidden>,\"n\":1}"#),
        (#"{\"token\":\"hush\\\\\",\"n\":1}"#, #"{\"token\":<hidden>,\"n\":1}"#),
        (#"{"token":"hush\\","n":1}"#, #"{"token":<hidden>,"n":1}"#), (#"token:\\hush"\x, hush"#, "token:<hidden>"),
        ("token:\\\\hush\nn:1", "token:<hidden>\nn:1"), (#"token:\"#, "token:<hidden>"), (#"token:\\\""#, "token:<hidden>"),
        (#"{\u0022pin\u0022:\u0022hush\u0022,"#, #"{\u0022pin\u0022:<hidden>"#),
        (#"{"log":"a\npin=hush\nb"}"#, #"{"log":"a\npin=<hidden>"}"#),
    ])
    func `a value that is escaped several times ends where it began`(text: String, shown: String) {
        #expect(Secrecy.hidingAnnounced(text) == shown)
    }

    @Test(arguments: [
        ("{'password':'it\\'s hush','n':1}", "{'password':<hidden>,'n':1}"), ("password='it''s hush', n=1", "password=<hidden>, n=1"),
        (#"{"x":"{'pin':'it\\'s hush'}"}"#, #"{"x":"{'pin':<hidden>}"}"#),
        ("{\"token\"\n :\r\n\t\"hush\",\n\"n\":1}", "{\"token\"\n :\r\n\t<hidden>,\n\"n\":1}"),
        (#"{"tokens":["a","hush"],"n":1}"#, #"{"tokens":<hidden>"#), (#"{"pin":1234,"b":{"n":"x"}}"#, #"{"pin":<hidden>}}"#),
        (#"token=("a", "hush")"#, "token=<hidden>"), (#""token" => "hush", "n" => 1"#, #""token" => <hidden>, "n" => 1"#),
        ("user[pin]=hush&n=1", "user[pin]=<hidden>&n=1"), ("user%5Bpin%5D=a%26hush&n=1", "user%5Bpin%5D=<hidden>&n=1"),
        ("d=%7B%22pin%22%3A%22hush%22%7D", "d=%7B%22pin%22%3A<hidden>"), ("d=%2522pin%2522%253Ahush", "d=%2522pin%2522%253A<hidden>"),
        ("<a><password>hush</password>", "<a><password<hidden>"), ("<w:Password Type='a'>hush</w:Password>", "<w:Password<hidden>"),
        (#"{"value":"Bearer hush","n":1}"#, #"{"value":"Bearer <hidden>","n":1}"#), ("bearer", "bearer"), ("token%", "token%"),
        ("a%2", "a%2"),
        (#"{"token":"","n":1}"#, #"{"token":<hidden>,"n":1}"#), ("token=&n=1", "token=&n=1"), (#"\"#, #"\"#),
    ])
    func `secrets are found in the syntax of each format`(text: String, shown: String) { #expect(Secrecy.hidingAnnounced(text) == shown) }

    @Test func `a truncated secret is hidden`() {
        let texts = [
            #"{"password":"hüsh"}"#, #"{\"password\":\"hüs\\\"h\"}"#, #"Cookie: sid="hüsh""#, "a=1&pin=hüsh", #"\\\"pin\\\":\\\"hüsh\\\""#,
        ]
        for bytes in texts.map({ Array($0.utf8) }) {
            for end in 0...bytes.count {
                let shown = Secrecy.replacing(Secrecy.announced(inText: Array(bytes[..<end])), in: Array(bytes[..<end]))
                #expect(!shown.contains(0xC3) && !shown.contains(0xBC), "\(String(decoding: shown, as: UTF8.self))")
            }
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "token", "token:", "token ", "token=\"", "\\", "token:\\", "'", "%25", "25", "token:x\n ", "<", "bearer ", "a:", "cpi",
            "tokenx ",
        ])
    func `the time grows linearly with the text`(part: String) {
        for start in ["", "token", "token=", "token:\"", "token%"] {
            let bytes = Array((start + String(repeating: part, count: 2_000)).utf8)
            #expect(Secrecy.announced(inText: bytes).count <= 2_001)
            #expect(Secrecy.announced(inBinary: bytes).count <= 1)
        }
    }

    @Test func `bytes after a secret name are hidden`() {
        let bytes = [0x82, 0xA1] + Array("n".utf8) + [1, 0xA8] + Array("password".utf8) + [0xA4] + Array("hush".utf8)
        #expect(Secrecy.announced(inBinary: bytes) == [13..<18])
        #expect(Secrecy.announced(inBinary: [1, 2, 3]) == [])
    }

    @Test(arguments: [
        // CBOR, whose lengths are letters. MessagePack with a number that is a letter. Protocol Buffers. A form.
        (" hpassworddhush", 10), ("atanhpassworddhush", 13), ("cpindhush", 4), ("atanfapikeydhush", 11), ("\u{3}pinAhush", 4),
        ("\u{A}\u{8}password\u{12}\u{4}hush", 10), ("user%5Bpin%5D=hush", 10), ("Password", 8), ("access_tokens\u{1}hush", 12),
    ])
    func `letters next to the name do not reveal the secret`(text: String, end: Int) {
        let count = text.utf8.count
        #expect(Secrecy.announced(inBinary: Array(text.utf8)) == (end < count ? [end..<count] : []))
    }

    @Test(arguments: ["ping", "passenger", "a\u{5}author", "\u{3}pi", "c"])
    func `bytes without a secret name are shown`(text: String) { #expect(Secrecy.announced(inBinary: Array(text.utf8)) == []) }

    @Test func `overlapping or adjacent ranges give one mark`() {
        let bytes = Array("0123456789".utf8)
        func shown(_ ranges: [Range<Int>]) -> String { String(decoding: Secrecy.replacing(ranges, in: bytes), as: UTF8.self) }
        #expect(shown([2..<5, 1..<3, 5..<6]) == "0<hidden>6789")
        #expect(shown([0..<2, 0..<4]) == "<hidden>456789")
        #expect(shown([8..<10]) == "01234567<hidden>")
        #expect(shown([]) == "0123456789")
    }
}
