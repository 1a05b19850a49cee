import ArgumentParser
import Foundation
import Holdfast

/// How both sides introduce themselves over TLS: what is asked of the server, and what it is shown.
struct HandshakeOptions: ParsableArguments {
    static let passphraseVariable = "HOLDFAST_PASSPHRASE"

    @Option(help: ArgumentHelp("Ask for this name, and check the certificate for it, instead of the URL's host.", valueName: "name"))
    var serverName: String?

    @Option(help: ArgumentHelp("Speak no older TLS than this: 1.2 or 1.3 (default: 1.2).", valueName: "version"), transform: Self.version)
    var tlsMin: TLSOptions.Version?

    @Option(
        help: ArgumentHelp(
            "Show this client certificate: a PEM file with its chain, or a PKCS#12 file (.p12, .pfx). The passphrase of its key comes "
                + "from $\(Self.passphraseVariable).",
            valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("The client certificate's private key, in PEM (default: it is in the file of --cert).", valueName: "file"))
    var key: String?

    func validate() throws {
        if key != nil, cert == nil { throw ValidationError("--key is the key of --cert; give both.") }
        if key != nil, isPKCS12 { throw ValidationError("--key and a PKCS#12 file exclude each other: the file has the key.") }
        for (option, file) in [("--cert", cert), ("--key", key)] {
            guard let file, access(file, R_OK) != 0 else { continue }
            throw ValidationError("\(option): cannot read \(file.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    /// The first option given that has no meaning without TLS.
    var secureOption: String? {
        [("--server-name", serverName), ("--tls-min", tlsMin.map { "\($0)" }), ("--cert", cert)].first { $0.1 != nil }?.0
    }

    func apply(to tls: inout TLSOptions, environment: [String: String]) {
        tls.serverName = serverName
        if let tlsMin { tls.minimumVersion = tlsMin }
        guard let cert else { return }
        let passphrase = environment[Self.passphraseVariable]
        tls.identity =
            isPKCS12
            ? .pkcs12(file: cert, passphrase: passphrase)
            : .pem(certificates: .file(cert), privateKey: .file(key ?? cert), passphrase: passphrase)
    }

    private var isPKCS12: Bool {
        let name = cert?.lowercased() ?? ""
        return name.hasSuffix(".p12") || name.hasSuffix(".pfx")
    }

    static func version(_ text: String) throws -> TLSOptions.Version {
        switch text {
        case "1.2": .tls12
        case "1.3": .tls13
        default: throw ValidationError("\"\(text.escapedOnOneLine)\" is no version of TLS; use 1.2 or 1.3.")
        }
    }
}
