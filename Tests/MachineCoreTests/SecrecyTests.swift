import MachineCore
import Testing

/// What is secret, and what is shown in its place.
@Suite struct SecrecyTests {
    @Test(arguments: [
        ("server", "nginx", "nginx"), ("x-api-key", "s3same", "<hidden>"), ("x-made-up", "s3same", "<hidden>"),
        ("cookie", "a=b", "<hidden>"),
        ("location", "/login?t=s3same", "/login?…"), ("location", "wss://tim:s3same@a.example/", "<hidden>"), ("location", "/a", "/a"),
        ("www-authenticate", "Bearer realm=\"s3same\"", "Bearer …"), ("www-authenticate", "Negotiate", "Negotiate"),
    ])
    func `a field is shown if its name is known to be public`(name: String, value: String, shown: String) {
        #expect(Secrecy.value(value, of: name) == shown)
    }

    @Test(arguments: ["password", "userPassword", "PASS", "access_token", "x-api-key", "Set-Cookie", "client.secret", "authextra"])
    func `a name announces a secret`(name: String) { #expect(Secrecy.isSecret(name.utf8)) }

    @Test(arguments: ["price", "author", "compass", "authid", "authmethods", "passenger", "key", ""])
    func `a name does not`(name: String) { #expect(!Secrecy.isSecret(name.utf8)) }

    @Test(arguments: [
        (#"{"password":"hush","n":1}"#, #"{"password":<hidden>,"n":1}"#), (#"{"token" : "a\"b", "n":1}"#, #"{"token" : <hidden>, "n":1}"#),
        (#"{"pin":1234}"#, #"{"pin":<hidden>}"#), (#"{"auth":{"user":"x"}}"#, #"{"auth":<hidden>"#),
        (#"{"token":"cut o"#, #"{"token":<hidden>"#), ("user=tim&password=hush&n=1", "user=tim&password=<hidden>&n=1"),
        ("passcode:hush\nlogin:tim\n", "passcode:<hidden>\nlogin:<hidden>\n"),
        ("Authorization: Bearer hush, and more\r\nHost: a", "Authorization: <hidden>\r\nHost: a"),
        (#"{"body":"{\"token\":\"hush\",\"n\":1}"}"#, #"{"body":"{\"token\":<hidden>,\"n\":1}"}"#),
        (#"["ticket","price"]"#, #"["ticket","price"]"#), ("token", "token"), ("token:", "token:"), ("", ""), ("a: 1", "a: 1"),
    ])
    func `what a name announces is hidden in a text`(text: String, shown: String) { #expect(Secrecy.hidingAnnounced(text) == shown) }

    @Test func `behind the name of a secret nothing is shown of bytes`() {
        let bytes = [0x82, 0xA1] + Array("n".utf8) + [1, 0xA8] + Array("password".utf8) + [0xA4] + Array("hush".utf8)
        #expect(Secrecy.announced(inBinary: bytes) == [13..<18])
        #expect(Secrecy.announced(inBinary: [1, 2, 3]) == [])
    }

    @Test func `ranges that overlap or touch leave one mark`() {
        let bytes = Array("0123456789".utf8)
        func shown(_ ranges: [Range<Int>]) -> String { String(decoding: Secrecy.replacing(ranges, in: bytes), as: UTF8.self) }
        #expect(shown([2..<5, 1..<3, 5..<6]) == "0<hidden>6789")
        #expect(shown([0..<2, 0..<4]) == "<hidden>456789")
        #expect(shown([8..<10]) == "01234567<hidden>")
        #expect(shown([]) == "0123456789")
    }
}
