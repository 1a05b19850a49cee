import Foundation
import Holdfast
import WebSocketRuntime
import Testing
import WebSocketCore

/// How the trust rules judge what the system's TLS found; `TrustTests` tests the same for NIOSSL.
@Suite struct SystemTrustTests {
    private let made = Result { try TrustCertificates.shared() }
    private var files: TrustCertificates { get throws { try made.get() } }
    private let now = Int64(Date().timeIntervalSince1970)

    private func der(_ names: String...) throws -> [[UInt8]] {
        try names.flatMap { try #require(PEM.certificates(in: Array(Data(contentsOf: URL(filePath: files.path("\($0).pem")))))) }
    }

    private func trust(_ change: (inout TLSOptions) throws -> Void = { _ in }) throws -> SystemTrust {
        var options = TLSOptions()
        try change(&options)
        return try SystemTrust(
            options, host: "localhost", place: "wss://localhost/", path: "URLSession", supporting: SystemTrust.ofURLSession)
    }

    private func set(_ pins: String..., mode: PinSet.Mode = .enforce, host: String = "localhost") throws -> PinSet {
        PinSet(host, pins: try pins.map { try Pin($0) }, mode: mode)
    }

    // MARK: Pins

    @Test func `any certificate of the verified chain may match a key pin or a certificate pin`() throws {
        let chain = ServerTrust(chain: try der("leaf", "between", "root"))
        for name in ["leaf", "between", "root"] {
            for pin in [try files.keyPin(name), try files.certificatePin(name)] {
                #expect(try trust { $0.pins = [try set(try files.keyPin("stranger"), pin)] }.verdict(on: chain, now: now) == nil)
            }
        }
    }

    @Test func `a chain without any of the pins is refused and reported`() throws {
        let reports = LockedValue<[PinReport]>([])
        let trust = try trust {
            $0.pins = [try set(try files.keyPin("stranger"))]
            $0.onPinReport = { report in reports.withLockedValue { $0.append(report) } }
        }
        let failure = try #require(trust.verdict(on: ServerTrust(chain: try der("leaf", "between")), now: now))
        #expect(failure.code == .pinMismatch)
        #expect(failure.detail.contains("TLS with wss://localhost/ failed: the chain has none of the pins for localhost"))
        #expect(failure.detail.contains(try files.keyPin("leaf")))
        #expect(reports.withLockedValue { $0.map(\.isRefused) } == [true])
        #expect(reports.withLockedValue { $0.first?.chain.map(\.subject) } == ["Trust leaf", "Trust between"])
    }

    @Test func `a report-only pin set accepts the server, and a set for another host reports nothing`() throws {
        let reports = LockedValue<[PinReport]>([])
        let trust = try trust {
            let pin = try files.keyPin("stranger")
            $0.pins = [try set(pin, mode: .reportOnly), try set(pin, host: "other.example")]
            $0.onPinReport = { report in reports.withLockedValue { $0.append(report) } }
        }
        #expect(trust.verdict(on: ServerTrust(chain: try der("leaf", "between")), now: now) == nil)
        #expect(reports.withLockedValue { $0.map(\.isRefused) } == [false])
    }

    @Test func `a certificate that cannot be parsed matches no pin`() throws {
        let trust = try trust { $0.pins = [try set(try files.keyPin("leaf"))] }
        #expect(trust.verdict(on: ServerTrust(chain: [[1, 2, 3]]), now: now)?.code == .pinMismatch)
    }

    @Test func `pins do not replace a trusted authority`() throws {
        let trust = try trust { $0.pins = [try set(try files.keyPin("self"))] }
        let fault = ServerTrust.Fault(code: -67843, words: "not trusted")
        #expect(trust.verdict(on: ServerTrust(chain: try der("self"), fault: fault), now: now)?.code == .unknownAuthority)
    }

    // MARK: Faults that the system found

    @Test(arguments: [
        (-67602, "other", WebSocketError.Code.wrongHost, "the certificate is for other.example, not for localhost"),
        (-67818, "old", .certificateExpired, "`Trust old` expired on 20"),
        (-67843, "leaf", .unknownAuthority, "no trusted authority vouches for `Trust leaf`; if `Trust between`, which issued it"),
        (-25318, "leaf", .unknownAuthority, "no trusted authority vouches for `Trust leaf`"),
        (-67843, "self", .unknownAuthority, "`Trust self` is self-signed and not trusted"),
        // If an authority is missing, the system reports that first, whatever the dates are.
        (-67843, "old", .certificateExpired, "`Trust old` expired on 20"),
        (-67820, "leaf", .tls, "the system's words (-67820)"),
    ])
    func `each fault has its code and an advice`(number: Int, name: String, code: WebSocketError.Code, words: String) throws {
        let fault = ServerTrust.Fault(code: number, words: "the system's words")
        let failure = try #require(try trust().verdict(on: ServerTrust(chain: try der(name), fault: fault), now: now))
        #expect(failure.code == code)
        #expect(failure.detail.contains(words), "\(failure.detail)")
        #expect(!failure.detail.contains("serverName"), "URLSession does not support the setting")
        #expect(failure.underlying as? ServerTrust.Fault == fault)
    }

    @Test func `an error of an expired chain names the expired certificate`() throws {
        let fault = ServerTrust.Fault(code: -67818, words: "expired")
        let failure = try trust().verdict(on: ServerTrust(chain: try der("leaf", "old"), fault: fault), now: now)
        #expect(failure?.detail.contains("`Trust old` expired on 20") == true)
        // By the clock of this machine no certificate may be expired.
        let other = try trust().verdict(on: ServerTrust(chain: try der("leaf"), fault: fault), now: now)
        #expect(other?.code == .certificateExpired && other?.detail.contains("`Trust leaf`: expired") == true)
    }

    @Test func `with insecure TLS no fault is reported`() throws {
        let fault = ServerTrust.Fault(code: -67602, words: "another host")
        #expect(try trust { $0.isInsecure = true }.verdict(on: ServerTrust(chain: try der("other"), fault: fault), now: now) == nil)
    }

    // MARK: Authorities

    @Test func `authorities are read from PEM, in addition to the system's or instead of them`() throws {
        let added = try trust { $0.additionalRoots = [.file(try files.path("self-chain.pem")), .file(try files.path("root.pem"))] }
        #expect(added.roots == (try der("self", "between", "root")) && added.isOpenToSystem)
        let replaced = try trust { $0.trust = .file(try files.path("root.pem")) }
        #expect(replaced.roots == (try der("root")) && !replaced.isOpenToSystem)
        let bytes = Array(try Data(contentsOf: URL(filePath: files.path("root.pem"))))
        #expect(try trust { $0.trust = .pem(bytes) }.roots == (try der("root")))
        #expect(try trust().roots.isEmpty && trust().isOpenToSystem)
    }

    @Test func `authorities that cannot be read are an error that names them`() throws {
        let sources: [PEMSource] = [.file("/nowhere.pem"), .file("/"), .bytes([]), .file(try files.path("root.key"))]
        for source in sources {
            let error = #expect(throws: TransportError.self) { try trust { $0.additionalRoots = [source] } }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.detail == "the additional roots cannot be read (\(source.words))")
        }
    }

    @Test func `TLS options that the system does not support are an error`() {
        let error = #expect(throws: TransportError.self) {
            try trust { ($0.serverName, $0.identity) = ("other.example", .pkcs12(bytes: [])) }
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.detail == "URLSession cannot honour TLSOptions.identity, TLSOptions.serverName")
    }
}
