import HoldfastServer
import Testing
import WebSocketCore

@testable import HoldfastHub

/// The address and the token of a client.
@Suite struct CallerTests {
    @Test func `an address is the host without the port`() {
        #expect(PeerAddress.host(of: "127.0.0.1:5000") == "127.0.0.1" && PeerAddress.host(of: "[::1]:5000") == "::1")
    }

    @Test func `behind a proxy the last address that it names is the client's`() {
        func address(_ values: String...) -> String? {
            var headers = HeaderFields()
            for value in values { headers.add("X-Forwarded-For", value) }
            return PeerAddress.forwarded(headers)
        }
        #expect(address("10.0.0.1") == "10.0.0.1" && address("forged, 10.0.0.1") == "10.0.0.1")
        #expect(address("10.0.0.1", "10.0.0.2") == "10.0.0.2")
        #expect(address("10.0.0.1:5000") == "10.0.0.1" && address("[2001:db8::1]:5000") == "2001:db8::1")
        #expect(address("[2001:db8::1]") == "2001:db8::1" && address("2001:db8::1") == "2001:db8::1")
        #expect(address() == nil && address("unknown") == nil && address("10.0.0.1, ") == "10.0.0.1")
    }

    @Test func `only loopback addresses are local, and a Unix domain socket may belong to a proxy`() {
        #expect(!Caller.isLoopback(PeerAddress.host(of: nil)))
        for host in ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1", "localhost"] { #expect(Caller.isLoopback(host), "\(host)") }
        for host in ["10.0.0.1", "127.evil.example", "::2", "::ffff:10.0.0.1", "0.0.0.0", ""] {
            #expect(!Caller.isLoopback(host), "\(host)")
        }
    }

    @Test func `a request with proxy headers is not local`() {
        #expect(Caller.isForwarded(["X-Forwarded-For": "10.0.0.1"]) && Caller.isForwarded(["forwarded": "for=x"]))
        #expect(!Caller.isForwarded(["Host": "x"]))
    }

    @Test func `a token is a bearer token or a query parameter`() {
        #expect(Caller.bearer("Bearer a.b.c") == "a.b.c" && Caller.bearer("bearer  x") == "x")
        #expect(Caller.bearer("Basic abc") == nil && Caller.bearer(nil) == nil && Caller.bearer("Bearer ") == nil)
        #expect(Caller.parameter("token", of: "a=1&token=dev%3aann+b") == "dev:ann b")
        #expect(Caller.parameter("token", of: "tokens=1") == nil && Caller.parameter("token", of: "token=%4") == nil)
        #expect(Caller.parameter("token", of: "token=%ff") == nil && Caller.parameter("token", of: nil) == nil)
    }
}
