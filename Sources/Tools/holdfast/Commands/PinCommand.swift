import ArgumentParser
import Foundation
import Holdfast
import WebSocketRuntime

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Print the pins of a server's certificate chain.",
        discussion: """
            The chain is verified first, and printed with the server's own key on top and the root at the end, as Swift to paste into \
            TLSOptions.pins. Choose one or two, and add the pin of a key that the server does not use yet: without a backup a lost key \
            locks every installed app out. A pin of an authority holds for whatever that authority vouches for. To try them: \
            holdfast connect --pin <pin>.

            Run it over a network that you trust: what somebody on the way shows you is what you would pin.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("wss://host:port", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @OptionGroup(title: "Connection") var trust: PinTrustOptions
    @OptionGroup(title: "Connection") var proxies: ProxyOptions

    @Flag(help: "Print JSON, with the pins of whole certificates too.")
    var json = false

    func validate() throws {
        guard url.isSecure else { throw ValidationError("ws: has no certificates; give a wss: URL.") }
    }

    func run() async throws {
        if trust.insecure { StandardOutput.warn("WARNING: --insecure: nobody vouches for this chain; compare the pins by another way.") }
        do {
            let environment = ProcessInfo.processInfo.environment
            let chain = try await ServerChain.of(
                url, tls: trust.options(environment: environment), isUnverified: trust.insecure,
                proxy: proxies.choice(environment: environment), proxyTLS: proxies.tls)
            let listing = PinListing(host: url.host, chain: chain)
            StandardOutput.write(json ? try listing.json() : listing.swift)
        } catch let error as WebSocketError {
            for line in error.lines { StandardOutput.warn(line) }
            throw Outcome(error).code
        }
    }
}

/// Whom `pin` believes.
struct PinTrustOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Trust only the authorities in this PEM file.", valueName: "file"))
    var ca: String?

    @Flag(help: "Print the chain though nobody vouches for it.")
    var insecure = false

    @OptionGroup var handshake: HandshakeOptions

    func validate() throws {
        if ca != nil, insecure { throw ValidationError("--ca and --insecure exclude each other: one checks more, the other nothing.") }
    }

    func options(environment: [String: String]) -> TLSOptions {
        var options = TLSOptions(trust: ca.map { .file($0) } ?? .system)
        handshake.apply(to: &options, environment: environment)
        return options
    }
}

/// A chain's pins, to paste into an app or to read by a program.
struct PinListing {
    let host: String
    let chain: [ServerCertificate]

    /// Swift, with a comment for each pin.
    var swift: String {
        let lines = chain.enumerated().map { place, certificate in
            "    try Pin(\"\(certificate.publicKeyPin)\"),  // \(role(place)): \(name(certificate)), until \(lastDay(certificate))"
        }
        return (["PinSet(\"\(host)\", pins: ["] + lines + ["])"]).joined(separator: "\n") + "\n"
    }

    /// One object; keys in the order of the alphabet.
    ///
    /// Nothing in it can drive a terminal: names are the server's own words.
    func json() throws -> String {
        let rows = chain.map {
            Row(
                subject: $0.subject, issuer: $0.issuer, notAfter: "\(lastDay($0))", publicKeyPin: "\($0.publicKeyPin)",
                certificatePin: "\($0.certificatePin)")
        }
        return try Report(host: host, chain: rows).inPrettyJSON().escapedWithinJSONLines + "\n"
    }

    private func role(_ place: Int) -> String {
        if place == 0 { return "the server" }
        return place == chain.count - 1 && chain[place].isSelfIssued ? "the root" : "an authority between"
    }

    private func name(_ certificate: ServerCertificate) -> String {
        certificate.subject.isEmpty ? "unnamed" : certificate.subject.escapedOnOneLine
    }

    private func lastDay(_ certificate: ServerCertificate) -> CalendarDate { CalendarDate(secondsSince1970: certificate.notAfter) }

    private struct Report: Encodable {
        let host: String
        let chain: [Row]
    }

    private struct Row: Encodable {
        let subject, issuer, notAfter, publicKeyPin, certificatePin: String
    }
}

/// Which keys the server's chain is expected to have.
struct PinOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Connect only if the chain of the URL's host has this pin, sha256/… or cert-sha256/…, as 'holdfast pin' prints it; "
                + "repeatable, one of them is enough.",
            valueName: "pin"),
        transform: Self.pin)
    var pin: [Pin] = []

    @Flag(help: "Warn if the chain has none of the pins, and connect all the same.")
    var pinReportOnly = false

    func validate() throws {
        if pinReportOnly, pin.isEmpty { throw ValidationError("--pin-report-only says what a missing --pin means; give one.") }
    }

    func apply(to tls: inout TLSOptions, for url: WebSocketURL) {
        guard !pin.isEmpty else { return }
        tls.pins = [PinSet(url.host, pins: pin, mode: pinReportOnly ? .reportOnly : .enforce)]
        let warned = LockedValue(false)
        tls.onPinReport = { report in
            // A refusal is told by the error; the many connections of a benchmark would all warn of the same.
            guard !report.isRefused else { return }
            warned.withLockedValue { isDone in
                if !isDone { StandardOutput.warn(report.warning) }
                isDone = true
            }
        }
    }

    /// What is wrong with the pin becomes the parser's message.
    private static func pin(_ text: String) throws -> Pin {
        do throws(Pin.Malformed) { return try Pin(text) } catch { throw ValidationError(error.description) }
    }
}

extension PinReport {
    /// For people, on one line.
    var warning: String {
        let seen = chain.map { "\($0.publicKeyPin) (\($0))" }.joined(separator: ", ").escapedOnOneLine
        return "WARNING: the chain of \(host.escapedOnOneLine) has none of the pins, but "
            + (seen.isEmpty ? "nothing that could be read" : seen)
    }
}
