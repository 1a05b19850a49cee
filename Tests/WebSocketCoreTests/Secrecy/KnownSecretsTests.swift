import Foundation
import Testing
import WebSocketCore

/// Known secrets are found in every encoding.
@Suite struct KnownSecretsTests {
    private static let secret = "s3same/0pen+\"sesame\""
    private let known = KnownSecrets([Self.secret])

    @Test(arguments: 0..<3, ["", "a", "bc"])
    func `a secret is found in Base64 at every offset`(lead: Int, tail: String) {
        let whole = String(repeating: "x", count: lead) + Self.secret + tail
        let digits = Data(whole.utf8).base64EncodedString()
        for text in [digits, digits.replacing("+", with: "-").replacing("/", with: "_")] {
            let shown = known.hiding("<\(text)>")
            #expect(shown.contains("<hidden>"))
            // The remaining digits belong to the text around the secret as much as to the secret.
            #expect(shown.count <= "<hidden>".count + 2 + 9)
        }
    }

    @Test func `a secret is found in plain text, percent-encoded, and in JSON`() throws {
        let json = String(decoding: try JSONEncoder().encode([Self.secret]), as: UTF8.self)
        #expect(known.hiding("a \(Self.secret) b") == "a <hidden> b")
        #expect(known.hiding("t=s3same%2F0pen%2B%22sesame%22&b") == "t=<hidden>&b")
        #expect(known.hiding("t=s3same%2f0pen%2b%22sesame%22&b") == "t=<hidden>&b")
        #expect(known.hiding(json) == "[\"<hidden>\"]")
        #expect(known.hiding("[\"s3same/0pen+\\\"sesame\\\"\"]") == "[\"<hidden>\"]")
    }

    @Test func `a possible prefix of a secret at the end of a text is hidden if it is long enough`() {
        #expect(known.hiding("is s3sam") == "is <hidden>")
        #expect(known.hiding("is s3s") == "is <hidden>")
        #expect(known.hiding("is s3") == "is s3")
        #expect(known.hiding("s3s is none") == "s3s is none")
    }

    @Test func `an empty list finds nothing, and an empty secret is ignored`() {
        #expect(KnownSecrets([""]).isEmpty)
        #expect(KnownSecrets().hiding("anything") == "anything")
    }

    @Test func `the secrets of a request are its values except those with harmless names`() throws {
        let url = try WebSocketURL("wss://a.example/feed?user=tim&key=s3same%2Bkey&password=x&plain")
        let headers: HeaderFields = [
            "Authorization": "Basic \(Data("tim:pass-word".utf8).base64EncodedString())", "Cookie": "theme=dark; sid=c00kie",
            "Origin": "https://a.example", "X-Device": "ios", "X-Opaque": "0123456789", "X-Api-Key": "k3y",
        ]
        let texts = KnownSecrets.carried(by: url, headers, ["chat", "auth.t0ken"], try Proxy("http://me:pr0xy@b.example:3128"))
        #expect(texts.contains("s3same%2Bkey") && texts.contains("s3same+key") && texts.contains("x"))
        #expect(texts.contains("pass-word") && texts.contains("c00kie") && texts.contains("0123456789") && texts.contains("k3y"))
        #expect(texts.contains("auth.t0ken") && texts.contains("pr0xy"))
        for plain in ["tim", "dark", "https://a.example", "ios", "chat", "plain", "me"] { #expect(!texts.contains(plain)) }
    }

    @Test func `errors that quote a peer do not contain the secret`() {
        let failure = HandshakeFailure(.invalidExtension, "the server chose `\(Self.secret)`").hiding(known)
        #expect(failure == HandshakeFailure(.invalidExtension, "the server chose `<hidden>`"))
    }
}
