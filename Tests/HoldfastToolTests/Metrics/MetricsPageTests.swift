import Foundation
import HoldfastHub
import HoldfastServer
import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct MetricsPageTests {
    private func answer(_ method: String, _ target: String, at host: String = "127.0.0.1:9100") -> (status: Int, type: String?) {
        let response = MetricsPage.answer(RequestHead(method: method, target: target, headers: ["Host": host]), PrometheusRegistry())
        return (response.status, response.headers["Content-Type"])
    }

    @Test func `the page says which format it has`() {
        #expect(answer("GET", "/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8"))
        #expect(answer("HEAD", "/metrics?x=1").status == 200)
    }

    @Test func `a page that makes its own name lead here gets nothing`() {
        for host in ["localhost:9100", "[::1]:9100", "127.0.0.1"] { #expect(answer("GET", "/metrics", at: host).status == 200, "\(host)") }
        for host in ["evil.example", "127.0.0.1.evil.example:9100", ""] {
            #expect(answer("GET", "/metrics", at: host).status == 403, "\(host)")
        }
    }

    @Test func `there is nothing else, and nothing can be changed`() {
        #expect(answer("GET", "/").status == 404 && answer("GET", "/metrics/more").status == 404)
        #expect(answer("POST", "/metrics").status == 405)
    }

    @Test(.timeLimit(.minutes(1))) func `who connects and says nothing keeps nobody out, and is not kept for long`() async throws {
        try await MetricsPage(registry: PrometheusRegistry(), port: 0).server.withRunning { server in
            let silent = try (0..<32).map { _ in try LoopbackSocket(to: server.port) }
            let scraper = try LoopbackSocket(to: server.port)
            scraper.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            #expect(await scraper.readToEnd().hasPrefix("HTTP/1.1 200 "))
            let began = ContinuousClock.now
            for socket in silent { #expect(await socket.readToEnd() == "") }
            #expect(ContinuousClock.now - began < .seconds(8), "the handshake may take 2 s; 10 s would be too long")
        }
    }
}

/// A plain connection to a port of this machine.
private final class LoopbackSocket: Sendable {
    private let descriptor: CInt

    init(to port: Int) throws {
        #if canImport(Glibc)
            let kind = CInt(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, kind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        (address.sin_port, address.sin_addr.s_addr) = (UInt16(port).bigEndian, inet_addr("127.0.0.1"))
        let result = withUnsafeBytes(of: &address) {
            connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    func send(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }

    /// All that comes until the other side hangs up.
    func readToEnd() async -> String {
        var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while true {
            let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes += part.prefix(count)
            } else if count < 0, errno == EAGAIN {
                guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return "" }
            } else {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
