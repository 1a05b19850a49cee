import Foundation
import Holdfast
import Testing

@testable import HoldfastDoctor

@Suite struct DoctorDiagnosisTests {
    @Test func `of a server that is well there is nothing to warn of`() {
        let findings = Diagnosis.findings(of: DoctorCase.well)
        #expect(findings.allSatisfy { $0.severity == .good && $0.advice == nil })
        #expect(Set(findings.map(\.topic)) == Set(Finding.Topic.allCases))
    }

    @Test func `every finding has a name of its own`() {
        let names = Diagnosis.findings(of: DoctorCase.well).map(\.id)
        #expect(Set(names).count == names.count)
    }

    @Test func `of what was not seen nothing is said`() { #expect(Diagnosis.findings(of: Observations(url: "wss://x/")).isEmpty) }

    // MARK: Network

    @Test func `a name that leads nowhere is broken`() {
        let lost = Resolution(host: "nowhere", lookupMs: 1, error: "unknown")
        let finding = DoctorCase.finding("network.unresolved") { $0.resolution = lost }
        #expect(finding?.severity == .broken && finding?.text == "nowhere cannot be resolved: unknown")
    }

    @Test func `addresses of which none answers are broken, and each says why`() {
        let dead = Resolution.Address(address: "192.0.2.1", family: "IPv4", error: "connection refused")
        let finding = DoctorCase.finding("network.unreachable") { $0.resolution?.addresses = [dead] }
        #expect(finding?.severity == .broken && finding?.details == ["IPv4  192.0.2.1  no connection: connection refused"])
    }

    @Test func `a family of which no address answers is a warning`() {
        let dead = Resolution.Address(address: "2001:db8::1", family: "IPv6", error: "no route")
        let finding = DoctorCase.finding("network.deadFamily") { $0.resolution?.addresses = [dead, DoctorCase.address] }
        #expect(finding?.severity == .warning && finding?.text.contains("IPv6") == true)
    }

    @Test func `one dead address of a living family is a warning of its own`() {
        let dead = Resolution.Address(address: "192.0.2.2", family: "IPv4", error: "no route")
        let change = { (seen: inout Observations) -> Void in seen.resolution?.addresses = [dead, DoctorCase.address] }
        #expect(DoctorCase.finding("network.deadAddress", change)?.severity == .warning)
        #expect(DoctorCase.finding("network.deadFamily", change) == nil)
    }

    @Test func `a proxy is told, and who named it`() {
        let finding = DoctorCase.finding("network.proxy") { $0.proxy = ProxyView(url: "http://proxy:3128", isFromEnvironment: true) }
        #expect(finding?.text == "all connections go through the proxy http://proxy:3128, from the environment")
        #expect(finding?.advice?.contains("--no-proxy") == true)
    }

    // MARK: TLS

    @Test(arguments: [(14, Finding.Severity.good), (13, .warning), (0, .warning), (-1, .warning)])
    func `a certificate that ends within two weeks is a warning`(days: Int, severity: Finding.Severity) {
        let finding = DoctorCase.finding("tls.expiry") { $0.security?.chain = [DoctorCase.certificate(daysLeft: days)] }
        #expect(finding?.severity == severity)
    }

    @Test func `the certificate of the chain that ends first counts`() {
        let finding = DoctorCase.finding("tls.expiry") {
            $0.security?.chain = [DoctorCase.certificate(daysLeft: 60), DoctorCase.certificate(daysLeft: 3)]
        }
        #expect(finding?.text == "the chain's api.example.com expires in 3 days")
    }

    @Test(arguments: ["certificateExpired", "wrongHost", "unknownAuthority", "tls"])
    func `a chain that is not trusted is broken, with its own name and advice`(code: String) {
        let finding = DoctorCase.finding("tls.\(code)") { $0.security?.distrust = SecurityView.TrustFailure(code: code, text: "why") }
        #expect(finding?.severity == .broken && finding?.text == "why" && finding?.advice != nil)
    }

    @Test(arguments: [
        ("tls.clientCertificateWanted", "the server wants a client certificate"),
        ("tls.clientCertificateRefused", "the server did not accept the client certificate"),
        ("upgrade.lost", "hung up during the handshake; it had asked for a client certificate and got none"),
    ])
    func `a server that wants another client certificate gets one from --cert`(id: String, text: String) {
        let code = String(id.split(separator: ".")[1])
        let finding = DoctorCase.finding(id) { $0.upgrade?.failure = UpgradeView.Failure(code: code, text: text) }
        #expect(finding?.severity == .broken && finding?.advice?.contains("--cert and --key (TLSOptions.identity") == true)
        guard id.hasPrefix("tls") else { return }
        let distrusted = DoctorCase.finding(id) { $0.security?.distrust = SecurityView.TrustFailure(code: code, text: text) }
        #expect(distrusted?.advice?.hasPrefix(finding?.advice ?? "-") == true)
    }

    @Test func `an expired certificate is told once`() {
        let findings = Diagnosis.findings(
            of: DoctorCase.but {
                $0.security?.distrust = SecurityView.TrustFailure(code: "certificateExpired", text: "why")
                $0.security?.chain = [DoctorCase.certificate(daysLeft: -5)]
            })
        #expect(findings.count { $0.topic == .tls && $0.severity > .good } == 1)
    }

    @Test func `what is weak is a warning`() {
        let weak = DoctorCase.certificate(weaknesses: ["an RSA key of only 1024 bits"])
        let finding = DoctorCase.finding("tls.weak") { $0.security?.chain = [weak] }
        #expect(finding?.severity == .warning && finding?.text.contains("1024 bits") == true)
    }

    @Test func `without TLS 1.3 there is a note`() {
        #expect(DoctorCase.finding("tls.version") { $0.security?.version = "1.2" }?.severity == .note)
    }

    @Test func `that nothing is encrypted is a note`() {
        let finding = DoctorCase.finding("tls.none") { ($0.security, $0.url) = (nil, "ws://api.example.com/") }
        #expect(finding?.severity == .note)
    }

    // MARK: Upgrade

    private func refused(_ status: Int, _ headers: HeaderFields = [:]) -> Finding? {
        DoctorCase.finding("upgrade.refused") {
            $0.upgrade?.take(ResponseHead(status: status, headers: headers))
            $0.upgrade?.failure = UpgradeView.Failure(code: "refused", text: "the server answered \(status)", body: "<h1>\nHello")
        }
    }

    @Test(arguments: [
        (200, "web server"), (401, "--bearer"), (403, "Origin"), (404, "path"), (426, "proxy_set_header"), (429, "Retry-After: 7"),
        (502, "behind it"),
    ])
    func `each refusal has its own advice`(status: Int, words: String) {
        let finding = refused(status, ["Retry-After": "7"])
        #expect(finding?.severity == .broken && finding?.advice?.contains(words) == true)
    }

    @Test func `a redirect says where to go`() {
        #expect(refused(301, ["Location": "wss://new.example.com/"])?.advice?.contains("wss://new.example.com/") == true)
    }

    @Test func `a refusal shows its fields, and how its body begins`() {
        #expect(refused(404, ["Server": "shop"])?.details == ["Server: shop", "its body begins: <h1>"])
    }

    @Test func `credentials in the answer are not shown`() {
        let answer = ResponseHead(status: 101, headers: ["Set-Cookie": "id=secret"])
        let finding = DoctorCase.finding("upgrade.opened") { $0.upgrade?.take(answer) }
        #expect(finding?.details == ["Set-Cookie: <hidden>"])
    }

    @Test func `a subprotocol that is chosen is good, and none of those offered is a warning`() {
        let chosen = DoctorCase.finding("upgrade.subprotocol") {
            $0.upgrade?.offer(["chat", "mqtt"])
            $0.upgrade?.take(Agreement(subprotocol: "mqtt", response: ResponseHead(status: 101)))
        }
        #expect(chosen?.text == "the server chose the subprotocol mqtt of chat, mqtt")
        #expect(DoctorCase.finding("upgrade.subprotocolIgnored") { $0.upgrade?.offer(["chat"]) }?.severity == .warning)
    }

    @Test func `a subprotocol that may be a token is shown neither in words nor in JSON`() throws {
        var view = UpgradeView()
        view.offer(["chat", "bearer.s3cr3t"])
        let ignored = DoctorCase.finding("upgrade.subprotocolIgnored") { [view] in $0.upgrade = view }
        #expect(ignored?.text == "the server chose none of the subprotocols chat, <hidden>")
        let answer = ResponseHead(status: 101, headers: ["Sec-WebSocket-Protocol": "bearer.s3cr3t"])
        view.take(answer)
        view.take(Agreement(subprotocol: "bearer.s3cr3t", response: answer))
        let chosen = DoctorCase.finding("upgrade.subprotocol") { [view] in $0.upgrade = view }
        #expect(chosen?.text == "the server chose the subprotocol <hidden> of chat, <hidden>")
        let opened = DoctorCase.finding("upgrade.opened") { [view] in $0.upgrade = view }
        #expect(opened?.details == ["Sec-WebSocket-Protocol: <hidden>"])
        #expect(!String(decoding: try JSONEncoder().encode(view), as: UTF8.self).contains("s3cr3t"))
    }

    // MARK: On the way

    @Test(arguments: [("Via", "1.1 edge", "Via: 1.1 edge"), ("CF-Ray", "8f1", "Cloudflare"), ("Server", "nginx/1.26", "in front")])
    func `fields that proxies add give them away`(name: String, value: String, words: String) {
        let answer = ResponseHead(status: 101, headers: [name: value])
        let finding = DoctorCase.finding("surroundings.intermediaries") { $0.upgrade?.take(answer) }
        #expect(finding?.severity == .note && finding?.details.first?.contains(words) == true)
    }

    @Test func `one who refuses a bad request in another name stands in front`() {
        let change = { (seen: inout Observations, own: String) -> Void in
            seen.upgrade?.take(ResponseHead(status: 101, headers: ["Server": own]))
            seen.malformed = MalformedView(status: 400, server: "edge/2")
        }
        let other = DoctorCase.finding("surroundings.intermediaries") { change(&$0, "app/1") }
        #expect(other?.details.first?.hasPrefix("edge/2 refuses") == true)
        #expect(DoctorCase.finding("surroundings.intermediaries") { change(&$0, "edge/2") } == nil)
    }

    @Test func `a server that takes any path and any page is told, not blamed`() {
        let taken = RequestView(isAccepted: true, status: 101)
        #expect(DoctorCase.finding("surroundings.anyPath") { $0.unknownPath = taken }?.severity == .note)
        #expect(DoctorCase.finding("surroundings.anyOrigin") { $0.wrongOrigin = taken }?.severity == .note)
    }

    // MARK: Pings and close

    @Test func `a server that never pongs needs a ping of the application's`() {
        let finding = DoctorCase.finding("pings.never") { $0.pings = PingView(sent: 2, roundTrips: []) }
        #expect(finding?.severity == .broken && finding?.advice?.hasPrefix("use an application-level ping") == true)
    }

    @Test func `pings that go missing are a warning`() {
        #expect(DoctorCase.finding("pings.some") { $0.pings = PingView(sent: 10, roundTrips: [1, 2]) }?.severity == .warning)
    }

    @Test func `round trips are told by median and percentile, of the nearest rank`() {
        let pings = PingView(sent: 10, roundTrips: [10, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        #expect(pings.minMs == 1 && pings.medianMs == 5 && pings.p95Ms == 10)
        let single = PingView(sent: 1, roundTrips: [3])
        #expect(single.minMs == 3 && single.medianMs == 3 && single.p95Ms == 3)
    }

    @Test func `a close frame without an answer is broken; the end of TCP in its place is a warning`() {
        #expect(DoctorCase.finding("close.never") { $0.close = CloseView() }?.severity == .broken)
        #expect(DoctorCase.finding("close.unanswered") { $0.close = CloseView(endsTCP: true, endMs: 3) }?.severity == .warning)
    }

    @Test func `TCP that goes on after the close frames is a warning`() {
        #expect(DoctorCase.finding("close.keepsTCP") { $0.close?.endsTCP = false }?.severity == .warning)
    }

    @Test func `another code in the answer is a note`() {
        #expect(DoctorCase.finding("close.otherCode") { $0.close?.code = 1005 }?.severity == .note)
    }

    // MARK: Messages

    @Test(arguments: [Trial.text, .binary, .fragmented, .pingWithin, .empty])
    func `a connection that is dropped on what every server should take is broken`(trial: Trial) {
        let finding = DoctorCase.finding("messages.\(trial)") { $0[trial] = CloseReaction(kind: .hungUp, ms: 1) }
        #expect(finding?.severity == .broken && finding?.advice != nil)
    }

    @Test(arguments: [
        (1003, Finding.Severity.note), (1008, .note), (4400, .note), (1002, .broken), (1011, .warning),
    ])
    func `to close on text is the application's right, if the code says so`(code: Int, severity: Finding.Severity) {
        #expect(
            DoctorCase.finding("messages.text") { $0[.text] = CloseReaction(kind: .closed, closeCode: code, ms: 1) }?.severity == severity)
    }

    @Test func `no sign of life is broken, unless the server never gives one`() {
        let nothing = CloseReaction(kind: .nothing, ms: 1)
        #expect(DoctorCase.finding("messages.text") { $0[.text] = nothing }?.severity == .broken)
        #expect(
            DoctorCase.finding("messages.text") { ($0[.text], $0.pings) = (nothing, PingView(sent: 2, roundTrips: [])) }?.severity == .note)
    }

    @Test func `what a server says that also speaks unasked is not taken for an answer`() {
        let answered = CloseReaction(kind: .answered, detail: "the text \"tick\"", ms: 1)
        #expect(DoctorCase.finding("messages.text") { $0[.text] = answered }?.text.contains("tick") == true)
        let talkative = PingView(sent: 1, roundTrips: [1], messages: 3)
        #expect(DoctorCase.finding("messages.text") { ($0[.text], $0.pings) = (answered, talkative) }?.text.contains("unasked") == true)
    }

    @Test func `a ping that waits for the end of a message is a warning`() {
        let late = CloseReaction(kind: .echoed, ms: 1, isPongInTime: false)
        #expect(DoctorCase.finding("messages.pingWithin") { $0[.pingWithin] = late }?.severity == .warning)
    }

    @Test func `bytes that are not UTF-8 and frames without a mask should not be taken`() {
        for trial in [Trial.invalidUTF8, .unmasked] {
            #expect(DoctorCase.finding("messages.\(trial)") { $0[trial] = CloseReaction(kind: .silent, ms: 1) }?.severity == .warning)
            let refusal = CloseReaction(kind: .closed, closeCode: 1002, ms: 1)
            #expect(DoctorCase.finding("messages.\(trial)") { $0[trial] = refusal }?.severity == .good)
        }
    }

    // MARK: Compression, limit, idleness

    @Test func `compression is told with its ratio and parameters`() {
        let finding = DoctorCase.finding("compression.agreed") { _ in }
        #expect(finding?.text == "permessage-deflate; JSON of 9.77 KiB became 800 B, 12.5 times smaller")
        #expect(finding?.details.first == "windows: 32 KiB for the server, 4 KiB for us")
        #expect(finding?.details.dropFirst().first == "the server keeps, we forget the context")
    }

    @Test func `to agree on compression and to die of it is broken`() {
        let dead = CloseReaction(kind: .hungUp, ms: 1)
        #expect(DoctorCase.finding("compression.broken") { $0.compression?.reaction = dead }?.severity == .broken)
    }

    @Test func `a limit is told to the byte where it was found so`() {
        let text = DoctorCase.finding("limit.found") { _ in }?.text
        #expect(text == "messages of 1 MiB (1,048,576 bytes) are accepted, and not one byte more; larger ones are refused with 1009")
        let vague = DoctorCase.finding("limit.found") { $0.limit?.smallestRefused = 2 << 20 }?.text
        #expect(vague?.hasPrefix("the largest message has 1 MiB (1,048,576 bytes) to 2 MiB") == true)
    }

    @Test func `to hang up on a large message, or to swallow it, is a warning`() {
        #expect(DoctorCase.finding("limit.hangsUp") { $0.limit?.refusal = CloseReaction(kind: .hungUp, ms: 1) }?.severity == .warning)
        #expect(DoctorCase.finding("limit.silent") { $0.limit?.refusal = CloseReaction(kind: .nothing, ms: 1) }?.severity == .warning)
    }

    @Test func `up to the cap there may be no limit`() {
        let finding = DoctorCase.finding("limit.none") {
            $0.limit?.largestTaken = 4 << 20
            $0.limit?.smallestRefused = nil
        }
        #expect(finding?.severity == .good)
    }

    @Test func `an idle connection that ends asks for pings twice as often, if they help`() {
        let ended = IdleView(
            watchedMs: 90_000, ended: CloseReaction(kind: .closed, closeCode: 1001, ms: 60_000), pingEveryMs: 20_000, isKeptByPings: true)
        let finding = DoctorCase.finding("idle.ends") { $0.idle = ended }
        #expect(finding?.text == "a silent connection is closed with 1001 after 60 s")
        #expect(finding?.advice == "set WebSocketTimeouts.pingInterval to 30 s or less: pings keep it alive")
        let helpless = DoctorCase.finding("idle.endsAnyway") {
            $0.idle = ended
            $0.idle?.isKeptByPings = false
        }
        #expect(helpless?.advice?.hasPrefix("pings do not help") == true)
    }

    // MARK: Socket.IO

    @Test func `a server without Engine.IO has no findings about it`() {
        #expect(!Diagnosis.findings(of: DoctorCase.but { $0.engineIO = nil }).contains { $0.topic == .engineIO })
    }

    @Test func `a server of Engine.IO is recognised, with its pings and its limit`() {
        #expect(DoctorCase.finding("engineIO.spoken") { _ in }?.text.contains("pings every 25 s, and waits 20 s") == true)
        #expect(DoctorCase.finding("engineIO.limit") { _ in } != nil && DoctorCase.finding("engineIO.recovers") { _ in } != nil)
        #expect(DoctorCase.finding("engineIO.limit") { $0.engineIO?.maxPayload = nil } == nil)
    }

    @Test func `a server that upgrades only with the query of Engine.IO wants it`() {
        let finding = DoctorCase.finding("engineIO.query") { $0.upgrade?.failure = .init(code: "refused", text: "") }
        #expect(finding?.advice?.contains("?EIO=4&transport=websocket") == true)
    }

    @Test func `a server that wants a payload, or cannot recover, gets advice`() {
        let finding = DoctorCase.finding("engineIO.refused") { $0.engineIO?.refusal = StepRefusal(text: "not authorized") }
        #expect(finding?.text.contains("not authorized") == true && finding?.advice?.contains("--auth") == true)
        #expect(DoctorCase.finding("engineIO.noRecovery") { $0.engineIO?.recovers = false }?.advice != nil)
        #expect(DoctorCase.finding("engineIO.spoken") { $0.engineIO?.version = 3 }?.text.contains("has to ping every 25 s") == true)
        #expect(DoctorCase.finding("engineIO.old") { $0.engineIO?.version = 3 }?.advice?.contains("--protocol 4") == true)
        #expect(
            DoctorCase.finding("engineIO.noRecovery") { $0.engineIO = EngineIOView(version: 3, pingIntervalMs: 1, pingTimeoutMs: 1) } == nil
        )
    }

    @Test(arguments: [
        ("ws://h/socket.io/", "ws://h/socket.io/?EIO=4&transport=websocket"),
        ("wss://h/a/socket.io/?x=1", "wss://h/a/socket.io/?x=1&EIO=4&transport=websocket"),
        ("ws://h/?EIO=4&transport=websocket", "ws://h/?EIO=4&transport=websocket"), ("ws://h/chat", nil),
    ])
    func `only a URL that looks like Engine.IO is asked for it`(_ url: String, _ other: String?) throws {
        #expect(EngineIOProbe.url(for: try WebSocketURL(url))?.string == other)
    }

    // MARK: GraphQL

    @Test func `a server without GraphQL has no findings about it`() {
        #expect(!Diagnosis.findings(of: DoctorCase.but { $0.graphQL = [] }).contains { $0.topic == .graphQL })
    }

    @Test func `a server that speaks only the legacy protocol is a warning`() {
        let finding = DoctorCase.finding("graphQL.legacy") { $0.graphQL = [GraphQLView(subprotocol: "graphql-ws")] }
        #expect(finding?.severity == .warning)
        #expect(DoctorCase.finding("graphQL.legacy") { $0.graphQL.append(GraphQLView(subprotocol: "graphql-ws")) } == nil)
    }

    @Test func `a server that upgrades only with the subprotocol of GraphQL wants it`() {
        let finding = DoctorCase.finding("graphQL.required") { $0.upgrade?.failure = .init(code: "lost", text: "") }
        #expect(finding?.advice?.contains("--subprotocol graphql-transport-ws") == true)
    }

    @Test func `the refusal of a connection without a payload names the code`() {
        let finding = DoctorCase.finding("graphQL.refused") {
            $0.graphQL[0].refusal = GraphQLView.Refusal(closeCode: 4403, text: "Forbidden")
        }
        #expect(finding?.severity == .note && finding?.text.contains("closed with 4403: Forbidden") == true)
    }

    @Test func `a server that answers no pings of GraphQL is a warning, with advice`() {
        let finding = DoctorCase.finding("graphQL.noPong") { $0.graphQL[0].pongMs = nil }
        #expect(finding?.severity == .warning && finding?.advice?.contains("pingInterval") == true)
    }

    @Test func `a server that closes because of a syntax error is noted`() {
        let finding = DoctorCase.finding("graphQL.closes") {
            $0.graphQL[0].syntaxError = GraphQLView.Refusal(closeCode: 4400, text: "Bad Request")
        }
        #expect(finding?.text.hasSuffix("because of a syntax error: 4400 Bad Request") == true)
    }
}
