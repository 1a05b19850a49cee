import Testing
import WebSocketCore

/// RFC 9110 §11.6.1, RFC 7617 §2, RFC 6750 §3.
@Suite struct AuthenticationChallengeTests {
    struct Case: Sendable {
        let fields: [String], expected: [String]
    }

    @Test(arguments: [
        Case(fields: [], expected: []),
        Case(fields: ["Basic realm=\"a b\""], expected: ["basic realm=a b"]),
        Case(fields: ["BEARER Realm = x , error=\"invalid_token\""], expected: ["bearer error=invalid_token realm=x"]),
        Case(fields: ["Basic realm=\"a, b\", charset=\"UTF-8\", Bearer"], expected: ["basic charset=UTF-8 realm=a, b", "bearer"]),
        Case(fields: ["Negotiate", "Basic realm=x"], expected: ["negotiate", "basic realm=x"]),
        Case(fields: ["Negotiate YWJj/+==, Basic realm=x"], expected: ["negotiate", "basic realm=x"]),
        Case(fields: ["Basic realm=\"say \\\"hi\\\"\""], expected: ["basic realm=say \"hi\""]),
        Case(fields: ["Basic realm=x, realm=y"], expected: ["basic realm=x"]),
        Case(fields: [" , ,Basic realm=x,,"], expected: ["basic realm=x"]),
        Case(fields: ["Basic realm=\"open"], expected: ["basic", "realm"]),
        Case(fields: ["\"Basic\""], expected: []),
    ])
    func `challenges are parsed from the server's response`(sample: Case) {
        var headers: HeaderFields = [:]
        for field in sample.fields { headers.add("WWW-Authenticate", field) }
        let found = AuthenticationChallenge.all(in: headers).map { challenge in
            ([challenge.scheme] + challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        }
        #expect(found == sample.expected)
    }

    @Test func `a user name and password are sent as Basic`() throws {
        var (url, headers, subprotocols): (String, HeaderFields, [String]) = ("ws://h/", ["Authorization": "Bearer old"], [])
        try CredentialPlacement.basic.place("Aladdin:open sesame", url: &url, headers: &headers, subprotocols: &subprotocols)
        #expect(headers.values("Authorization") == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
        #expect((url, subprotocols) == ("ws://h/", []))
    }

    @Test(arguments: ["s3cr3t", "", "us\u{1}er:s3cr3t", "user:s3cr3t\n"])
    func `invalid credentials are refused, and the error does not contain them`(secret: String) {
        var (url, headers, subprotocols): (String, HeaderFields, [String]) = ("ws://h/", [:], [])
        let failure = #expect(throws: HandshakeFailure.self) {
            try CredentialPlacement.basic.place(secret, url: &url, headers: &headers, subprotocols: &subprotocols)
        }
        #expect(failure?.kind == .invalidHeader)
        #expect(failure?.description.contains("s3cr3t") == false)
        #expect(headers.isEmpty)
    }
}
