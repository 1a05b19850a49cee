import Foundation
import Holdfast
import WebSocketRuntime
import NIOSSL
import ScriptedPeers
import Testing

extension SocketTests {
    /// Pins, roots, client certificates and names over TLS, and the errors for each of them.
    @Suite struct TrustTests {
        private let made = Result { try TrustCertificates.shared() }
        private var files: TrustCertificates { get throws { try made.get() } }

        /// TLS options that trust only the test's root.
        private func rooted(_ change: (inout TLSOptions) throws -> Void = { _ in }) throws -> TLSOptions {
            var options = TLSOptions(trust: .file(try files.path("root.pem")))
            try change(&options)
            return options
        }

        private func configuration(_ options: TLSOptions) -> WebSocketConfiguration {
            .with { ($0.tls, $0.redirects) = (options, RedirectPolicy()) }
        }

        private func expectOpen(_ url: String, _ options: TLSOptions) async throws {
            let connection = try await WebSocketConnection.connect(to: url, configuration: configuration(options))
            #expect(await connection.close().isClean)
        }

        private func expectFailure(
            _ code: WebSocketError.Code, _ words: [String], _ url: String, _ options: TLSOptions, mayBeLost: Bool = false,
            location: SourceLocation = #_sourceLocation
        ) async {
            let error = await #expect(throws: WebSocketError.self, sourceLocation: location) {
                try await WebSocketConnection.connect(to: url, configuration: configuration(options))
            }
            // A reset may arrive before the alert with the reason; then the connection is lost, and the error has the same advice.
            if !(mayBeLost && error?.code == .lost) {
                #expect(error?.code == code, "\(String(describing: error))", sourceLocation: location)
                #expect(error?.isRetryable == false, sourceLocation: location)
            }
            for word in words {
                #expect(error?.description.contains(word) == true, "\(word) in \(String(describing: error))", sourceLocation: location)
            }
        }

        // MARK: Chains

        @Test(arguments: [TLSVersion.tlsv12, .tlsv13], ["leaf", "rsa"])
        func `TLS 1.2 and 1.3 accept ECDSA with an intermediate and RSA`(version: TLSVersion, identity: String) async throws {
            let chain = identity == "leaf" ? "leaf-chain" : identity
            let peer = TrustPeer(certificates: try files, identity: identity, chain: chain, version: version)
            try await peer.run { port in try await expectOpen("wss://localhost:\(port)/", rooted()) }
            #expect(peer.seen.withLockedValue { $0.serverName } == "localhost")
        }

        @Test func `a missing intermediate certificate is named in the error`() async throws {
            try await TrustPeer(certificates: try files, chain: "leaf").run { port in
                let words = ["no trusted authority vouches for `Trust leaf`", "`Trust between`", "let the server send the whole chain"]
                await expectFailure(.unknownAuthority, words, "wss://localhost:\(port)/", try rooted())
            }
        }

        @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
        func `an expired certificate is an error with the date and an advice`(version: TLSVersion) async throws {
            try await TrustPeer(certificates: try files, identity: "old", chain: "old-chain", version: version).run { port in
                let words = ["`Trust old` expired on 20", "renew it on the server"]
                await expectFailure(.certificateExpired, words, "wss://localhost:\(port)/", try rooted())
            }
        }

        @Test(arguments: ["localhost", "127.0.0.1"])
        func `a certificate for other hosts is an error that names them`(host: String) async throws {
            try await TrustPeer(certificates: try files, identity: "other", chain: "other").run { port in
                let words = ["is for other.example, not for \(host)", "TLSOptions.serverName"]
                await expectFailure(.wrongHost, words, "wss://\(host):\(port)/", try rooted())
            }
        }

        @Test func `a certificate for an address is not valid for a name with that address`() async throws {
            try await TrustPeer(certificates: try files, identity: "address", chain: "address").run { port in
                try await expectOpen("wss://127.0.0.1:\(port)/", rooted())
                let words = ["is for other.example, 127.0.0.1, not for localhost"]
                await expectFailure(.wrongHost, words, "wss://localhost:\(port)/", try rooted())
            }
        }

        @Test func `a self-signed certificate is trusted if it was given, and only for its names`() async throws {
            let own = try files.path("self.pem")
            try await TrustPeer(certificates: try files, identity: "self", chain: "self").run { port in
                let url = "wss://localhost:\(port)/"
                await expectFailure(.unknownAuthority, ["`Trust self` is self-signed"], url, try rooted())
                try await expectOpen(url, TLSOptions(trust: .file(own)))
                try await expectOpen(url, rooted { $0.additionalRoots = [.file(own)] })
                await expectFailure(.wrongHost, ["is for localhost"], "wss://127.0.0.1:\(port)/", TLSOptions(trust: .file(own)))
            }
        }

        @Test func `additional roots are trusted in addition to any others`() async throws {
            try await TrustPeer(certificates: try files).run { port in
                let url = "wss://localhost:\(port)/"
                let root = try Array(Data(contentsOf: URL(filePath: files.path("root.pem"))))
                for trust in [.system, .file(try files.path("stranger.pem"))] as [TLSOptions.Trust] {
                    await expectFailure(.unknownAuthority, ["TLSOptions.additionalRoots"], url, TLSOptions(trust: trust))
                    var options = TLSOptions(trust: trust)
                    options.additionalRoots = [.bytes(root)]
                    try await expectOpen(url, options)
                }
            }
        }

        // MARK: Pins

        @Test(arguments: ["leaf", "between", "root"], [TLSVersion.tlsv12, .tlsv13])
        func `a pin matches any certificate of the verified chain, even the root, which no server sends`(
            name: String, version: TLSVersion
        ) async throws {
            let pins = try [files.keyPin(name), files.certificatePin(name)].map { try Pin($0) }
            try await TrustPeer(certificates: try files, version: version).run { port in
                for pin in pins {
                    try await expectOpen("wss://localhost:\(port)/", rooted { $0.pins = [PinSet("localhost", pins: [pin])] })
                }
            }
        }

        @Test func `a backup pin is sufficient`() async throws {
            try await TrustPeer(certificates: try files).run { port in
                let pins = [try Pin(files.keyPin("stranger")), try Pin(files.keyPin("between"))]
                try await expectOpen("wss://localhost:\(port)/", rooted { $0.pins = [PinSet("localhost", pins: pins)] })
            }
        }

        @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
        func `without a matching pin nothing is sent, and the error shows the pins of the chain`(version: TLSVersion) async throws {
            let peer = TrustPeer(certificates: try files, version: version)
            let reports = LockedValue<[PinReport]>([])
            try await peer.run { port in
                let options = try rooted {
                    $0.pins = [PinSet("localhost", pins: [try Pin(files.keyPin("stranger"))])]
                    $0.onPinReport = { report in reports.withLockedValue { $0.append(report) } }
                }
                let words = ["none of the pins for localhost", try files.keyPin("leaf"), "`Trust root`", "holdfast pin"]
                await expectFailure(.pinMismatch, words, "wss://localhost:\(port)/", options)
            }
            #expect(peer.seen.withLockedValue { $0.bytes } == 0)
            let report = try #require(reports.withLockedValue { $0.first })
            #expect(report.isRefused && report.finding == .mismatch && report.host == "localhost")
            #expect(report.chain.map(\.subject) == ["Trust leaf", "Trust between", "Trust root"])
        }

        @Test func `a sent certificate that is not in the verified chain matches no pin`() async throws {
            // The server sends `between`, but its own certificate is trusted, so `between` is not in the verified chain.
            try await TrustPeer(certificates: try files, identity: "self", chain: "self-chain").run { port in
                let pins = [try Pin(files.keyPin("between"))]
                var options = TLSOptions(trust: .file(try files.path("self.pem")))
                options.pins = [PinSet("localhost", pins: pins)]
                await expectFailure(.pinMismatch, [], "wss://localhost:\(port)/", options)
            }
        }

        @Test func `a report-only set lets the connection open and reports to the app`() async throws {
            let reports = LockedValue<[PinReport]>([])
            try await TrustPeer(certificates: try files).run { port in
                let strange = try Pin(files.keyPin("stranger"))
                try await expectOpen(
                    "wss://localhost:\(port)/",
                    rooted {
                        $0.pins = [PinSet("localhost", pins: [strange], mode: .reportOnly), PinSet("a.example", pins: [strange])]
                        $0.onPinReport = { report in reports.withLockedValue { $0.append(report) } }
                    })
            }
            #expect(reports.withLockedValue { $0.map(\.isRefused) } == [false])
        }

        @Test func `an expired set refuses only if configured`() async throws {
            try await TrustPeer(certificates: try files).run { port in
                let (url, strange) = ("wss://localhost:\(port)/", try Pin(files.keyPin("stranger")))
                var set = PinSet("localhost", pins: [strange], expires: CalendarDate("2020-01-01"))
                try await expectOpen(url, rooted { $0.pins = [set] })
                set.afterExpiry = .refuse
                await expectFailure(.pinMismatch, ["expired on 2020-01-01", "update the app"], url, try rooted { $0.pins = [set] })
            }
        }

        @Test func `a pinned certificate still needs a trusted authority`() async throws {
            try await TrustPeer(certificates: try files).run { port in
                var options = TLSOptions(trust: .file(try files.path("stranger.pem")))
                options.pins = [PinSet("localhost", pins: [try Pin(files.keyPin("leaf"))])]
                await expectFailure(.unknownAuthority, [], "wss://localhost:\(port)/", options)
            }
        }

        // MARK: Client certificates

        @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
        func `a client certificate is required, refused or accepted`(version: TLSVersion) async throws {
            let key = PEMSource.file(try files.path("client.key"))
            func pem(_ name: String, _ key: PEMSource, _ passphrase: String? = nil) throws -> ClientIdentity {
                .pem(certificates: .file(try files.path("\(name).pem")), privateKey: key, passphrase: passphrase)
            }
            try await TrustPeer(certificates: try files, version: version, wantsClientCertificate: true).run { port in
                let url = "wss://localhost:\(port)/"
                let advice = ["give it one in TLSOptions.identity"]
                await expectFailure(.clientCertificateWanted, advice, url, try rooted(), mayBeLost: true)
                let strange = try pem("stranger", .file(files.path("stranger.key")))
                let showing = try rooted { $0.identity = strange }
                await expectFailure(.clientCertificateRefused, ["client certificate"], url, showing, mayBeLost: true)
                let bytes = try Array(Data(contentsOf: URL(filePath: files.path("client.p12"))))
                let accepted = try [
                    pem("client", key), pem("client", .file(files.path("client-locked.key")), "sesame"),
                    .pkcs12(file: files.path("client.p12"), passphrase: "sesame"), .pkcs12(bytes: bytes, passphrase: "sesame"),
                ]
                for identity in accepted { try await expectOpen(url, rooted { $0.identity = identity }) }
            }
        }

        @Test(arguments: [400, 403, 404])
        func `a refusal after an optional client certificate mentions that the server may need one`(
            status: Int
        ) async throws {
            try await TrustPeer(certificates: try files, refusal: ResponseHead(status: status, headers: ["Content-Length": "0"])).run {
                port in
                let url = "wss://localhost:\(port)/"
                let isMentioned = status != 404
                await expectFailure(.refused, isMentioned ? ["\(status)", "got none; if it needs one"] : ["\(status)"], url, try rooted())
                let showing = try rooted { $0.identity = try client }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration(showing))
                }
                #expect(error?.description.contains("got one; look whether TLSOptions.identity") == isMentioned)
            }
        }

        private var client: ClientIdentity {
            get throws {
                .pem(certificates: .file(try files.path("client.pem")), privateKey: .file(try files.path("client.key")))
            }
        }

        @Test func `a redirect uses the client certificate only within the origin`() async throws {
            let showing = try rooted { $0.identity = try client }
            var sameOrigin = TrustPeer(certificates: try files, version: .tlsv12, wantsClientCertificate: true)
            sameOrigin.refusal = ResponseHead(status: 307, headers: ["Location": "/taken", "Content-Length": "0"])
            try await sameOrigin.run { port in try await expectOpen("wss://localhost:\(port)/", showing) }
            try await TrustPeer(certificates: try files, version: .tlsv12, wantsClientCertificate: true).run { port in
                let location = "wss://localhost:\(port)/"
                try await expectOpen(location, showing)
                var otherOrigin = TrustPeer(certificates: try files)
                otherOrigin.refusal = ResponseHead(status: 307, headers: ["Location": location, "Content-Length": "0"])
                try await otherOrigin.run { port in
                    await expectFailure(.clientCertificateWanted, [location], "wss://localhost:\(port)/", showing, mayBeLost: true)
                }
            }
        }

        @Test func `a redirect to another host does not use the configured server name`() async throws {
            try await TrustPeer(certificates: try files).run { port in
                let location = "wss://localhost:\(port)/"
                var first = TrustPeer(certificates: try files, identity: "other", chain: "other")
                first.refusal = ResponseHead(status: 307, headers: ["Location": location, "Content-Length": "0"])
                var configuration = try configuration(rooted { $0.serverName = "other.example" })
                configuration.redirects.reach = .anyHost
                try await first.run { port in
                    let url = "wss://127.0.0.1:\(port)/"
                    let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                    #expect(await connection.close().isClean)
                }
            }
        }

        @Test func `an unusable client certificate is a configuration error without its secrets`() async throws {
            let certificate = PEMSource.file(try files.path("client.pem"))
            let key = PEMSource.file(try files.path("root.key"))
            let locked = PEMSource.file(try files.path("client-locked.key"))
            let wrong = try [
                ClientIdentity.pem(certificates: certificate, privateKey: key),
                .pem(certificates: certificate, privateKey: locked),
                .pem(certificates: certificate, privateKey: locked, passphrase: "hush"),
                .pem(certificates: certificate, privateKey: .bytes([1, 2])), .pem(certificates: .bytes([]), privateKey: key),
                .pkcs12(file: files.path("client.p12"), passphrase: "hush"), .pkcs12(file: files.path("client.p12")),
                .pkcs12(file: "/nonexistent.p12", passphrase: "hush"), .pkcs12(bytes: [0x30, 0x80], passphrase: "hush"),
            ]
            for identity in wrong {
                await expectFailure(
                    .invalidConfiguration, ["client certificate"], "wss://127.0.0.1:1/", try rooted { $0.identity = identity })
                var text = "\(identity) \(String(reflecting: identity))"
                dump(identity, to: &text)
                #expect(!text.contains("hush") && !text.contains("[1, 2]"))
            }
        }

        @Test func `an error for DER in place of PEM says so and how to convert it`() async throws {
            let pem = try Data(contentsOf: URL(filePath: files.path("client.pem")))
            let der = PEMSource.bytes(try #require(PEM.certificates(in: Array(pem))?.first))
            let key = PEMSource.file(try files.path("client.key"))
            let (url, words) = ("wss://127.0.0.1:1/", ["it is DER, but PEM is required", "openssl x509 -inform der"])
            await expectFailure(.invalidConfiguration, words, url, try rooted { $0.additionalRoots = [der] })
            await expectFailure(
                .invalidConfiguration, words + ["the client certificate"], url,
                try rooted { $0.identity = .pem(certificates: der, privateKey: key) })
            let keyInDER = PEMSource.bytes([0x30, 6, 0x02, 1, 0, 0x04, 1, 7])
            await expectFailure(
                .invalidConfiguration, ["the client certificate's key", "it is DER", "openssl pkey -inform der"], url,
                try rooted { $0.identity = .pem(certificates: .file(try files.path("client.pem")), privateKey: keyInDER) })
        }

        // MARK: Versions and names

        @Test func `a TLS version below the minimum is refused`() async throws {
            try await TrustPeer(certificates: try files, version: .tlsv12).run { port in
                let options = try rooted { $0.minimumVersion = .tls13 }
                await expectFailure(.tls, ["not support TLS 1.3 or later", "minimumVersion"], "wss://localhost:\(port)/", options)
            }
            try await TrustPeer(certificates: try files, version: .tlsv11).run { port in
                await expectFailure(.tls, ["not support TLS 1.2 or later"], "wss://localhost:\(port)/", try rooted())
            }
        }

        @Test func `the given server name is sent and checked against the certificate`() async throws {
            let peer = TrustPeer(certificates: try files, identity: "other", chain: "other")
            try await peer.run { port in
                let pins = [PinSet("other.example", pins: [try Pin(files.keyPin("other"))])]
                for host in ["127.0.0.1", "localhost"] {
                    try await expectOpen(
                        "wss://\(host):\(port)/",
                        rooted {
                            $0.serverName = "other.example"
                            $0.pins = pins
                        })
                }
                let strange = try rooted {
                    $0.serverName = "other.example"
                    $0.pins = [PinSet("other.example", pins: [try Pin(files.keyPin("stranger"))])]
                }
                await expectFailure(.pinMismatch, ["other.example"], "wss://localhost:\(port)/", strange)
                let options = try rooted { $0.serverName = "another.example" }
                await expectFailure(.wrongHost, ["not for another.example"], "wss://localhost:\(port)/", options)
            }
            #expect(peer.seen.withLockedValue { $0.serverName } == "another.example")
        }

        @Test func `an unverified inspection does not send the client certificate`() async throws {
            let peer = TrustPeer(certificates: try files, wantsClientCertificate: true, applicationProtocols: ["acme"])
            let identity = ClientIdentity.pem(
                certificates: .file(try files.path("client.pem")), privateKey: .file(try files.path("client.key")))
            try await peer.run { port in
                let options = try rooted { ($0.identity, $0.applicationProtocols) = (identity, ["acme"]) }
                _ = try await ServerChain.of(WebSocketURL("wss://localhost:\(port)/"), tls: options, isUnverified: true)
            }
            // Without a certificate the server completes no handshake.
            #expect(peer.seen.withLockedValue { $0.applicationProtocol } == nil)
        }

        @Test(arguments: [(["http/1.1"], "http/1.1"), (["acme", "http/1.1"], "acme"), ([], nil)] as [([String], String?)])
        func `the given protocols are offered in their order`(offered: [String], agreed: String?) async throws {
            let peer = TrustPeer(certificates: try files, applicationProtocols: ["acme", "http/1.1"])
            try await peer.run { port in
                try await expectOpen("wss://localhost:\(port)/", rooted { $0.applicationProtocols = offered })
            }
            #expect(peer.seen.withLockedValue { $0.applicationProtocol } == agreed)
        }

        // MARK: Contradictions

        @Test func `contradicting TLS options are errors`() async throws {
            let pin = try Pin(files.keyPin("leaf"))
            let changes: [(String, (inout TLSOptions) -> Void)] = [
                (
                    "contradicts pins",
                    {
                        $0 = TLSOptions(isInsecure: true)
                        $0.pins = [PinSet("localhost", pins: [pin])]
                    }
                ),
                ("contradicts trust", { $0.isInsecure = true }),
                ("has no pins", { $0.pins = [PinSet("localhost", pins: [])] }),
                ("names no host", { $0.pins = [PinSet(pins: [pin])] }),
                ("write example.com", { $0.pins = [PinSet("*", pins: [pin])] }),
                ("application protocol", { $0.applicationProtocols = [""] }),
                ("application protocol", { $0.applicationProtocols = [String(repeating: "a", count: 256)] }),
                ("application protocol", { $0.applicationProtocols = ["é"] }),
                ("not a host name", { $0.serverName = "192.0.2.1" }), ("not a host name", { $0.serverName = "::1" }),
                ("not a host name", { $0.serverName = "" }), ("not a host name", { $0.serverName = "wss://a" }),
                ("additional roots", { $0.additionalRoots = [.file("/nonexistent.pem")] }),
            ]
            for (words, change) in changes {
                await expectFailure(.invalidConfiguration, [words], "wss://127.0.0.1:1/", try rooted(change))
            }
        }

        @Test func `pins for a host without TLS are an error`() async throws {
            let options = try rooted { $0.pins = [PinSet("**.localhost", pins: [try Pin(files.keyPin("leaf"))])] }
            await expectFailure(.invalidConfiguration, ["use wss:"], "ws://localhost:1/", options)
        }

        // MARK: No TLS

        @Test func `the error for a server without TLS depends on its behaviour`() async throws {
            func secure(_ url: String) -> String { url.replacing("ws://127.0.0.1", with: "wss://localhost") }
            try await withScriptedServer { peer in
                let header = try await peer.read(5)
                _ = try await peer.read(Int(header[3]) << 8 | Int(header[4]))
            } client: { url in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: secure(url)) }
                #expect(error?.code == .lost && error?.isRetryable == true)
                #expect(error?.description.contains("look whether it speaks TLS at all") == true)
            }
            try await withScriptedServer { peer in
                try await peer.send("HTTP/1.1 400 Bad Request\r\n\r\n")
                _ = await peer.readToEnd()
            } client: { url in
                await expectFailure(.tls, ["is not TLS", "use ws:"], secure(url), TLSOptions())
            }
        }

        // MARK: Inspecting a chain

        @Test func `a chain is inspected without a request, and verified by default`() async throws {
            let peer = TrustPeer(certificates: try files)
            try await peer.run { port in
                let url = try WebSocketURL("wss://localhost:\(port)/")
                let chain = try await ServerChain.of(url, tls: rooted())
                #expect(chain.map(\.subject) == ["Trust leaf", "Trust between", "Trust root"])
                #expect(try chain.map(\.publicKeyPin.description) == ["leaf", "between", "root"].map { try files.keyPin($0) })
                let error = await #expect(throws: WebSocketError.self) { try await ServerChain.of(url, tls: TLSOptions()) }
                #expect(error?.code == .unknownAuthority)
                let shown = try await ServerChain.of(url, tls: TLSOptions(), isUnverified: true)
                #expect(shown.map(\.subject) == ["Trust leaf", "Trust between"])
            }
            #expect(peer.seen.withLockedValue { $0.bytes } == 0)
        }
    }
}
