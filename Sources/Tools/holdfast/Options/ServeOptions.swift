import ArgumentParser
import Foundation
import Holdfast
import HoldfastServer

/// Where a development server listens, how it speaks, and what it tells.
struct ServeOptions: ParsableArguments {
    @Option(help: "The address to listen on; 0.0.0.0 for every IPv4 network of this machine (default: 127.0.0.1).")
    var host: String?

    @Option(name: [.short, .long], help: "The port to listen on; 0 for any free one (default: 9001).")
    var port: Int?

    @Option(help: ArgumentHelp("Listen on this Unix domain socket instead of a port.", valueName: "path"))
    var unix: String?

    @Option(help: ArgumentHelp("Speak wss: the certificate chain, as a PEM file.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("Speak wss: the certificate's private key, as a PEM file.", valueName: "file"))
    var tlsKey: String?

    @Flag(help: "Speak wss with a certificate for localhost made on the spot (needs the openssl program).")
    var tlsSelfSigned = false

    @Option(
        help: ArgumentHelp("Speak no older TLS than this: 1.2 or 1.3 (default: 1.2).", valueName: "version"),
        transform: HandshakeOptions.version)
    var tlsMin: TLSOptions.Version?

    @Option(
        help: ArgumentHelp(
            "Let pages of this origin connect, such as https://example.org; * is every. May be repeated.",
            discussion: """
                Pages on the server's own host may connect in any case, if that is an address, localhost, or the host of an origin given here.
                """, valueName: "origin"))
    var origin: [String] = []

    @Option(
        defaultAsFlag: 0,
        help: ArgumentHelp(
            "Serve metrics to Prometheus at http://127.0.0.1:<port>/metrics; without a port, or with 0, on any free one.",
            valueName: "port"))
    var metrics: Int?

    @Flag(name: [.short, .long], help: "Log errors only.")
    var quiet = false

    func validate() throws {
        if let port, !(0...65535 ~= port) { throw ValidationError("--port: \(port) is not a port; use 0 to 65535.") }
        if let metrics, !(0...65535 ~= metrics) { throw ValidationError("--metrics: \(metrics) is not a port; use 0 to 65535.") }
        if (tlsCert == nil) != (tlsKey == nil) { throw ValidationError("--tls-cert and --tls-key go together.") }
        if let odd = OriginPolicy(allowed: origin).firstInvalid {
            throw ValidationError(
                "--origin: \(odd.escapedOnOneLine) is no origin; use one like https://example.org, without a path, null, or *.")
        }
        if tlsCert != nil, tlsSelfSigned { throw ValidationError("--tls-self-signed and --tls-cert exclude each other.") }
        for file in [tlsCert, tlsKey].compactMap(\.self) where access(file, R_OK) != 0 {
            throw ValidationError("cannot read \(file.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    /// The configuration that the options ask for.
    func configuration(_ certificate: SelfSignedCertificate?) -> WebSocketServerConfiguration {
        var configuration = WebSocketServerConfiguration()
        (configuration.host, configuration.port, configuration.unixSocket) = (host ?? "127.0.0.1", port ?? 9001, unix)
        if let certificateFile = certificate?.certificateFile ?? tlsCert, let keyFile = certificate?.keyFile ?? tlsKey {
            configuration.tls = ServerTLSOptions(
                certificateChainFile: certificateFile, privateKeyFile: keyFile, minimumVersion: tlsMin ?? .tls12)
        }
        configuration.origins.allowed = origin
        return configuration
    }
}

/// How a server takes messages; a hub has none of these, for its protocol leaves nothing of it open.
struct ServeMessageOptions: ParsableArguments {
    @OptionGroup var http: HTTPVersionOptions

    @Option(help: ArgumentHelp("The largest message taken, such as 65536, 64K or 16M (default: 1M).", valueName: "bytes"))
    var maxMessage: ByteCount?

    @Flag(help: "Do not agree to permessage-deflate.")
    var noCompression = false

    func apply(to configuration: inout WebSocketServerConfiguration) {
        configuration.httpVersion = http.version
        if let maxMessage { configuration.limits.message = maxMessage.bytes }
        if noCompression { configuration.compression = nil }
    }
}
