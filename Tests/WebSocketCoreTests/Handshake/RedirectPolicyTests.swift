import Testing
import WebSocketCore

/// RFC 9110 §15.4 and §10.2.2, RFC 3986 §5.
@Suite struct RedirectPolicyTests {
    private func next(
        _ location: String?, from url: String, status: Int = 302, _ policy: RedirectPolicy = RedirectPolicy(reach: .anyHost),
        followed: Int = 0
    ) throws -> Redirect? {
        let response = ResponseHead(status: status, headers: location.map { ["Location": $0] } ?? [:])
        return try policy.next(after: response, from: WebSocketURL(url), followed: followed)
    }

    private func problem(
        _ location: String?, from url: String, _ policy: RedirectPolicy = RedirectPolicy(reach: .anyHost), followed: Int = 0
    ) -> RedirectProblem.Code? {
        #expect(throws: RedirectProblem.self) { try next(location, from: url, policy, followed: followed) }?.code
    }

    @Test(
        arguments: [
            ("wss://other/x", "wss://other/x"), ("https://other/x?y", "wss://other/x?y"), ("HTTPS://h/", "wss://h/"),
            ("//other:8443/x", "wss://other:8443/x"), ("/x", "wss://h/x"), ("x", "wss://h/a/x"), ("../x", "wss://h/x"),
            ("../../../x", "wss://h/x"), ("./x/./y/../z", "wss://h/a/x/z"), ("..", "wss://h/"), ("?p=q", "wss://h/a/b?p=q"),
            ("", "wss://h/a/b?c=d"), ("/x#fragment", "wss://h/x"), ("#f", "wss://h/a/b?c=d"), ("/x?y=../z", "wss://h/x?y=../z"),
            ("/x//y/", "wss://h/x//y/"),
        ])
    func `a Location is resolved against the URL of the request`(location: String, target: String) throws {
        #expect(try next(location, from: "wss://h/a/b?c=d")?.url.string == target)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `redirect statuses are followed`(status: Int) throws {
        #expect(try next("/x", from: "ws://h/", status: status)?.url.string == "ws://h/x")
        #expect(try next("/x", from: "ws://h/", status: status, .never) == nil)
    }

    @Test(arguments: [200, 300, 304, 305, 306, 401, 404, 503])
    func `other statuses are not followed`(status: Int) throws { #expect(try next("/x", from: "ws://h/", status: status) == nil) }

    @Test(
        arguments: [
            ("/x", "ws://h/", false), ("ws://h:80/x", "ws://H/", false), ("ws://h:81/x", "ws://h/", true), ("wss://h/x", "ws://h/", true),
            ("wss://h:80/", "ws://h/", true),
            ("ws://other/", "ws://h/", true), ("/x", "ws+unix:/s:/", false), ("ws://localhost/", "ws+unix:/s:/", true),
        ])
    func `another scheme, host or port is another origin`(location: String, url: String, expected: Bool) throws {
        #expect(try next(location, from: url)?.leavesOrigin == expected)
    }

    @Test func `a redirect from wss to ws is refused`() {
        for reach in [RedirectPolicy.Reach.sameHost, .anyHost] {
            #expect(problem("ws://h/", from: "wss://h/", RedirectPolicy(reach: reach)) == .downgrade)
            #expect(problem("http://h/", from: "wss://h/", RedirectPolicy(reach: reach)) == .downgrade)
        }
    }

    @Test func `a redirect to another host needs a policy that allows it`() throws {
        let policy = RedirectPolicy()
        #expect(problem("ws://other/", from: "ws://h/", policy) == .elsewhere)
        #expect(problem("ws://localhost/", from: "ws+unix:/s:/", policy) == .elsewhere)
        #expect(try next("wss://h:8443/", from: "ws://h/", policy)?.url.string == "wss://h:8443/")
    }

    @Test func `a server cannot redirect to a Unix domain socket or a file`() {
        #expect(problem("ws+unix:/run/docker.sock:/", from: "ws://h/") == .invalidLocation)
        #expect(problem("file:///etc/passwd", from: "ws://h/") == .invalidLocation)
    }

    @Test func `the number of redirects in a row is limited`() throws {
        let policy = RedirectPolicy(limit: 2)
        #expect(try next("/x", from: "ws://h/", policy, followed: 1) != nil)
        #expect(problem("/x", from: "ws://h/", policy, followed: 2) == .tooMany)
    }

    @Test func `a missing, repeated or invalid Location is a problem`() throws {
        #expect(problem(nil, from: "ws://h/") == .invalidLocation)
        #expect(problem("ws://h:x/", from: "ws://h/") == .invalidLocation)
        #expect(problem("http://user:s3cr3t@h/", from: "ws://h/") == .invalidLocation)
        let twice = ResponseHead(status: 302, headers: ["Location": "/a", "Location": "/b"])
        #expect(throws: RedirectProblem.self) { try RedirectPolicy().next(after: twice, from: WebSocketURL("ws://h/"), followed: 0) }
    }
}
