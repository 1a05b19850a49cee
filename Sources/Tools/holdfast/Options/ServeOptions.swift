import ArgumentParser
import Foundation
import Holdfast
import HoldfastServer
import HoldfastTerminal

/// The options of a server: address, TLS and logging.
struct ServeOptions: ParsableArguments {
    @Option(help: "The address to listen on; 0.0.0.0 for every IPv4 network of this machine (default: 127.0.0.1).")
    var host: String?

    @Option(name: [.short, .long], help: "The port to listen on; 0 for any free one (default: 9001).")
    var port: Int?

    @Option(help: ArgumentHelp("Listen on this Unix domain socket instead of a port.", valueName: "path"))
    var unix: String?

    @Option(help: ArgumentHelp("Use wss: the certificate chain, as a PEM file.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("Use wss: the certificate's private key, as a PEM file.", valueName: "file"))
    var tlsKey: String?

    @Flag(help: "Use wss with a new self-signed certificate for localhost (needs the openssl program).")
    var tlsSelfSigned = false

    @Option(
        help: ArgumentHelp("The minimum TLS version: 1.2 or 1.3 (default: 1.2).", valueName: "version"),
        transform: HandshakeOptions.version)
    var tlsMin: TLSOptions.Version?

    @Option(
        help: ArgumentHelp(
            "Allow pages of this origin to connect, such as https://example.org; * allows every origin. Repeatable.",
            discussion: """
                Pages on the server's own host are always allowed if it is an address, localhost, or the host of an origin given here.
                """, valueName: "origin"))
    var origin: [String] = []

    @Option(
        defaultAsFlag: 0,
        help: ArgumentHelp(
            "Serve metrics to Prometheus at http://127.0.0.1:<port>/metrics; without a port, or with 0, on any free port.",
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
                "--origin: \(odd.escapedOnOneLine) is not an origin; use one like https://example.org, without a path, null, or *.")
        }
        if tlsCert != nil, tlsSelfSigned { throw ValidationError("--tls-self-signed and --tls-cert exclude each other.") }
        for file in [tlsCert, tlsKey].compactMap(\.self) where access(file, R_OK) != 0 {
            throw ValidationError("cannot read \(file.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    /// Returns the configuration for the options.
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

/// The options for messages; a hub does not have these, because its protocol fixes them.
struct ServeMessageOptions: ParsableArguments {
    @OptionGroup var http: HTTPVersionOptions

    @Option(help: ArgumentHelp("The largest message to accept, such as 65536, 64K or 16M (default: 1M).", valueName: "bytes"))
    var maxMessage: ByteCount?

    @Flag(help: "Do not accept permessage-deflate.")
    var noCompression = false

    func apply(to configuration: inout WebSocketServerConfiguration) {
        configuration.httpVersion = http.version
        if let maxMessage { configuration.limits.message = maxMessage.bytes }
        if noCompression { configuration.compression = nil }
    }
}
