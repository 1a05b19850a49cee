import Foundation
import Holdfast
import HoldfastTerminal
import Testing

@testable import HoldfastDoctor

@Suite struct DoctorReportTests {
    private func report(_ change: (inout Observations) -> Void = { _ in }, stopped: Outcome? = nil) -> DoctorReport {
        DoctorReport(DoctorCase.but(change), stopped: stopped)
    }

    @Test func `who is well gets 0, with warnings too`() {
        #expect(report().exitStatus == 0 && report().isHealthy && report().verdict == "Healthy.")
        let warned = report { $0.close?.endsTCP = false }
        #expect(warned.exitStatus == 0 && warned.verdict == "Healthy, with 1 warning.")
    }

    @Test func `the first thing that is broken decides the status`() {
        #expect(report { $0.resolution?.error = "no" }.exitStatus == Outcome.unreachable.rawValue)
        #expect(report { $0.security?.distrust = .init(code: "wrongHost", text: "") }.exitStatus == Outcome.tls.rawValue)
        #expect(report { $0.upgrade?.failure = .init(code: "refused", text: "") }.exitStatus == Outcome.refused.rawValue)
        let broken = report {
            $0.pings = PingView(sent: 2, roundTrips: [])
            $0.close = CloseView()
        }
        #expect(broken.exitStatus == Outcome.violation.rawValue && broken.verdict == "Not healthy: 2 things are broken.")
        #expect(
            report {
                $0.security?.distrust = .init(code: "wrongHost", text: "")
                $0.pings = PingView(sent: 2, roundTrips: [])
            }.exitStatus == Outcome.tls.rawValue)
    }

    @Test func `what was stopped is not healthy, and has the signal's status`() {
        let stopped = report(stopped: .interrupted)
        #expect(stopped.exitStatus == 130 && !stopped.isHealthy && stopped.isPartial && stopped.verdict == "Stopped before the end.")
    }

    @Test func `a proxy that cannot be reached is no connection`() {
        let finding = DoctorCase.finding("network.proxyFailed") {
            $0.upgrade?.remote = nil
            $0.upgrade?.failure = .init(code: "proxyFailed", text: "no")
        }
        #expect(finding?.topic.outcome == .unreachable)
    }

    @Test func `a certificate that is wanted after all is a matter of TLS`() {
        let finding = DoctorCase.finding("tls.clientCertificateWanted") {
            $0.upgrade?.failure = .init(code: "clientCertificateWanted", text: "no")
        }
        #expect(finding?.topic.outcome == .tls && finding?.advice?.contains("identity") == true)
    }

    @Test func `people see marks, facts and advice in order`() {
        let text = report { $0.pings = PingView(sent: 2, roundTrips: []) }.text(.plain)
        let network = "Network\n  ✓ api.example.com resolves to 1 address, found in 12 ms\n      IPv4  192.0.2.1  answered in 20 ms\n"
        #expect(text.hasPrefix(network))
        #expect(text.contains("\n  ✗ the server never answers pings (RFC 6455 §5.5.3)\n    → use an application-level ping: "))
        #expect(text.hasSuffix("\n\nNot healthy: 1 thing is broken.\n"))
    }

    @Test func `colours come only where they are wanted`() {
        #expect(!report().text(.plain).contains("\u{1B}") && report().text(.coloured).contains("\u{1B}[32m✓\u{1B}[0m"))
    }

    @Test func `what a server says can drive no terminal, in either form`() throws {
        let evil = "\u{1B}[2J\u{9B}31m\u{202E}\u{7}"
        let report = report {
            $0.upgrade?.take(ResponseHead(status: 101, headers: ["Server": evil]))
            $0[.text] = CloseReaction(kind: .answered, detail: evil, ms: 1)
            $0[.binary] = CloseReaction(kind: .closed, closeCode: 4000, detail: evil, ms: 1)
            $0.upgrade?.failure = .init(code: "refused", text: evil, body: evil)
            $0.unfinished = [.init(probe: "idle", why: evil)]
        }
        for text in [report.text(.plain), report.json] {
            #expect(!text.unicodeScalars.contains { $0.drivesTerminal && $0 != "\n" })
        }
        struct Upgrade: Decodable { let failure: [String: String] }
        struct Seen: Decodable { let upgrade: Upgrade }
        struct Whole: Decodable { let observations: Seen }
        #expect(try JSONDecoder().decode(Whole.self, from: Data(report.json.utf8)).observations.upgrade.failure["text"] == evil)
    }

    @Test func `the names of the JSON are as documented`() throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(report().json.utf8)) as? [String: Any])
        #expect(object.keys.sorted() == ["exitStatus", "findings", "format", "isHealthy", "isPartial", "observations", "url"])
        let seen = try #require(object["observations"] as? [String: Any])
        #expect(
            seen.keys.sorted() == [
                "close", "compression", "engineIO", "graphQL", "idle", "limit", "messages", "pings", "resolution", "security", "unfinished",
                "unknownPath", "upgrade", "url", "wrongOrigin",
            ])
        let messages = try #require(seen["messages"] as? [String: Any])
        #expect(messages.keys.sorted() == ["binary", "empty", "fragmented", "invalidUTF8", "pingWithin", "text", "unmasked"])
    }

    @Test func `what brought nothing is listed with its reason`() {
        #expect(
            report { $0.unfinished = [.init(probe: "limit", why: "no time")] }.text(.plain).contains(
                "\nNot examined\n  - limit: no time\n"))
    }
}
