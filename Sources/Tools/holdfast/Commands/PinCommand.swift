import ArgumentParser
import Foundation
import Holdfast

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
