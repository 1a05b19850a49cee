import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal
import WebSocketRuntime

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Print the pins of a server's certificate chain.",
        discussion: """
            The chain is verified first, and printed with the server's own key at the top and the root at the end, as Swift to paste into \
            TLSOptions.pins. Choose one or two pins, and add the pin of a key that the server does not use yet: without a backup, a lost \
            key locks out every installed app. The pin of an authority matches every certificate that this authority issues. To try \
            pins: holdfast connect --pin <pin>.

            Run it over a network that you trust: if somebody intercepts the connection, you would pin their key.

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
        if trust.insecure { StandardOutput.warn("WARNING: --insecure: this chain is not verified; compare the pins over another channel.") }
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

/// The trust options of `pin`.
struct PinTrustOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Trust only the authorities in this PEM file.", valueName: "file"))
    var ca: String?

    @Flag(help: "Print the chain without verifying it.")
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

/// The pins of a chain, as Swift for an app or as JSON for a program.
struct PinListing {
    let host: String
    let chain: [ServerCertificate]

    /// The pins as Swift, with a comment for each.
    var swift: String {
        let lines = chain.enumerated().map { place, certificate in
            "    try Pin(\"\(certificate.publicKeyPin)\"),  // \(role(place)): \(name(certificate)), until \(lastDay(certificate))"
        }
        return (["PinSet(\"\(host)\", pins: ["] + lines + ["])"]).joined(separator: "\n") + "\n"
    }

    /// Returns one JSON object with sorted keys.
    ///
    /// Control sequences are escaped, because the names come from the server.
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
        return place == chain.count - 1 && chain[place].isSelfIssued ? "the root" : "an intermediate authority"
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

/// The options for the expected keys of the server's chain.
struct PinOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Connect only if the chain of the URL's host has this pin, sha256/… or cert-sha256/…, as 'holdfast pin' prints it; "
                + "repeatable, one of them is enough.",
            valueName: "pin"),
        transform: Self.pin)
    var pin: [Pin] = []

    @Flag(help: "Warn if the chain has none of the pins, but connect anyway.")
    var pinReportOnly = false

    func validate() throws {
        if pinReportOnly, pin.isEmpty { throw ValidationError("--pin-report-only needs at least one --pin.") }
    }

    func apply(to tls: inout TLSOptions, for url: WebSocketURL) {
        guard !pin.isEmpty else { return }
        tls.pins = [PinSet(url.host, pins: pin, mode: pinReportOnly ? .reportOnly : .enforce)]
        let warned = LockedValue(false)
        tls.onPinReport = { report in
            // A refusal is reported by the error. The connections of a benchmark would all give the same warning, so it is printed once.
            guard !report.isRefused else { return }
            warned.withLockedValue { isDone in
                if !isDone { StandardOutput.warn(report.warning) }
                isDone = true
            }
        }
    }

    /// Parses a pin; the error becomes the parser's message.
    private static func pin(_ text: String) throws -> Pin {
        do throws(Pin.Malformed) { return try Pin(text) } catch { throw ValidationError(error.description) }
    }
}

extension PinReport {
    /// The warning for people, on one line.
    var warning: String {
        let seen = chain.map { "\($0.publicKeyPin) (\($0))" }.joined(separator: ", ").escapedOnOneLine
        return "WARNING: the chain of \(host.escapedOnOneLine) has none of the pins, but "
            + (seen.isEmpty ? "nothing that could be read" : seen)
    }
}
