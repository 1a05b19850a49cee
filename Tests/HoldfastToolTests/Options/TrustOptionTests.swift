import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct TrustOptionTests {
    private let url: WebSocketURL
    private let pin = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    private let file = "/dev/null"

    init() throws { url = try WebSocketURL("wss://a.example:8443/") }

    private func options(_ arguments: String..., environment: [String: String] = [:]) throws -> TLSOptions {
        try ConnectionOptions.parse(arguments).configuration(for: url, environment: environment).tls
    }

    private func expectProblem(_ words: String, _ arguments: String...) {
        do {
            _ = try ConnectionOptions.parse(arguments)
            Issue.record("\(arguments) were taken")
        } catch {
            let message = ConnectionOptions.message(for: error)
            #expect(message.contains(words), "\(message)")
        }
    }

    @Test func `without an option nothing differs from the library's defaults`() throws {
        let tls = try options()
        #expect(tls.features.isEmpty && tls.onPinReport == nil)
    }

    @Test func `pins are enforced for the host of the URL`() throws {
        let backup = "cert-\(pin)"
        let tls = try options("--pin", pin, "--pin", backup)
        #expect(tls.pins == [PinSet("a.example", pins: [try Pin(pin), try Pin(backup)])])
        #expect(try options("--pin", pin, "--pin-report-only").pins.map(\.mode) == [.reportOnly])
    }

    @Test func `a warning shows what the chain has instead`() throws {
        let set = PinSet("a.example", pins: [try Pin(pin)], mode: .reportOnly)
        let report = [set].reports(on: [], of: ["a.example"], now: 0).first
        #expect(report?.warning == "WARNING: the chain of a.example has none of the pins, but nothing that could be read")
    }

    @Test func `a client certificate is PEM with a key, or PKCS#12 by its name`() throws {
        #expect(try options("--cert", file).identity?.description == "PEM, /dev/null and /dev/null")
        #expect(try options("--cert", file, "--key", "/dev/zero").identity?.description == "PEM, /dev/null and /dev/zero")
        let folder = FileManager.default.temporaryDirectory.appending(path: "trust-option-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["a.p12", "a.PFX"] {
            let path = folder.appending(path: name).path
            try Data().write(to: URL(filePath: path))
            #expect(try options("--cert", path).identity?.description == "PKCS#12, \(path)")
            expectProblem("the file has the key", "--cert", path, "--key", file)
        }
    }

    @Test func `the passphrase comes from the environment`() throws {
        let identity = try options("--cert", file, environment: [HandshakeOptions.passphraseVariable: "sesame"]).identity
        #expect(identity?.passphrase == "sesame")
    }

    @Test func `the oldest version and the server's name are set`() throws {
        #expect(try options("--tls-min", "1.3").minimumVersion == .tls13)
        #expect(try options("--tls-min", "1.2").minimumVersion == .tls12)
        #expect(try options("--server-name", "b.example").serverName == "b.example")
    }

    @Test func `what makes no sense says so`() {
        expectProblem("is not a pin", "--pin", "sha256/short")
        expectProblem("exclude each other", "--pin", pin, "--insecure")
        expectProblem("needs at least one --pin", "--pin-report-only")
        expectProblem("give both", "--key", file)
        expectProblem("cannot read", "--cert", "/nonexistent.pem")
        expectProblem("use 1.2 or 1.3", "--tls-min", "1.1")
    }

    @Test(arguments: [["--pin", "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="], ["--tls-min", "1.3"], ["--server-name", "a"]])
    func `what only TLS has is refused for ws`(arguments: [String]) throws {
        let (plain, secure) = (try WebSocketURL("ws://a.example/"), url)
        let options = try ConnectionOptions.parse(arguments)
        #expect(throws: (any Error).self) { try options.validate(for: plain) }
        #expect(throws: Never.self) { try options.validate(for: secure) }
    }

    @Test func `settings that an error advises are told by their names here`() {
        let error = WebSocketError(TransportError(.unknownAuthority, "name it in TLSOptions.additionalRoots"))
        #expect(error.lines == ["name it in TLSOptions.additionalRoots", "TLSOptions.additionalRoots is the option --ca, with a PEM file"])
    }
}
