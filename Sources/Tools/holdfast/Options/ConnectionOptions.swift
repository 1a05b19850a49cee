import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal

/// The options that configure a connection.
struct ConnectionOptions: ParsableArguments {
    static let bearerVariable = "HOLDFAST_BEARER"

    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A field for the request, as 'Name: value'; repeatable.", valueName: "field"))
    var header: [HeaderArgument] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            """
            A subprotocol to offer, in order of preference; repeatable. One that is not well known may be a token, so it is not sent to \
            another origin after a redirect.
            """,
            valueName: "name"))
    var subprotocol: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send 'Authorization: Bearer <token>'. Other users can see a command line: set $\(Self.bearerVariable) instead.",
            valueName: "token"))
    var bearer: String?

    @OptionGroup var login: LoginOptions

    @Option(help: ArgumentHelp("Trust only the authorities in this PEM file.", valueName: "file"))
    var ca: String?

    @Flag(help: "Accept any certificate for any host. Anyone on the way can then read and change everything.")
    var insecure = false

    @OptionGroup var handshake: HandshakeOptions

    @OptionGroup var pins: PinOptions

    @OptionGroup var way: RouteOptions

    @OptionGroup var http: HTTPVersionOptions

    @Flag(help: "Do not offer permessage-deflate.")
    var noCompression = false

    @Option(help: ArgumentHelp("The largest message to accept, such as 65536, 64K or 16M (default: 1M).", valueName: "bytes"))
    var maxMessage: ByteCount?

    func validate() throws {
        if ca != nil, insecure { throw ValidationError("--ca and --insecure exclude each other: one checks more, the other nothing.") }
        if !pins.pin.isEmpty, insecure {
            throw ValidationError("--pin and --insecure exclude each other: one checks more, the other nothing.")
        }
        if let ca, access(ca, R_OK) != 0 {
            throw ValidationError("--ca: cannot read \(ca.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
        for (index, name) in subprotocol.enumerated() where name.isEmpty || !name.unicodeScalars.allSatisfy(HeaderArgument.isTokenPart) {
            // The error does not contain the name, because it may be a secret.
            throw ValidationError("--subprotocol: number \(index + 1) is not a token; use letters, digits and - . _")
        }
        let authorizations = [
            bearer.map { _ in "--bearer" }, login.basic.map { _ in "--basic" },
            header.contains { $0.field.name.lowercased() == "authorization" } ? "--header 'Authorization: …'" : nil,
        ]
        let given = authorizations.compactMap(\.self)
        if given.count > 1 { throw ValidationError("\(given.joined(separator: " and ")) exclude each other.") }
    }

    /// Checks the options that depend on the URL.
    func validate(for url: WebSocketURL) throws {
        guard !url.isSecure else { return }
        if ca != nil { throw ValidationError("--ca is for wss: URLs; ws: is not encrypted.") }
        if insecure { throw ValidationError("--insecure is for wss: URLs; ws: is not encrypted in the first place.") }
        if let option = pins.pin.isEmpty ? handshake.secureOption : "--pin" {
            throw ValidationError("\(option) is for wss: URLs; ws: has no certificates.")
        }
    }

    /// Returns the configuration for the options; the token comes from `environment` unless it is given.
    func configuration(for url: WebSocketURL, environment: [String: String]) throws -> WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        for header in header { configuration.headers.add(header.field) }
        try login.apply(to: &configuration, environment: environment)
        if let token = bearer ?? (configuration.headers["Authorization"] == nil ? environment[Self.bearerVariable] : nil) {
            // The error must not contain the token.
            guard !token.isEmpty, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
                throw ValidationError("the bearer token is empty, or has characters that a header cannot contain (spaces, line breaks).")
            }
            configuration.headers["Authorization"] = "Bearer \(token)"
        }
        configuration.subprotocols = subprotocol
        configuration.httpVersion = http.version
        if noCompression { configuration.compression = nil }
        if let maxMessage { configuration.limits.message = maxMessage.bytes }
        way.apply(to: &configuration, environment: environment)
        configuration.tls = TLSOptions(trust: ca.map { .file($0) } ?? .system, isInsecure: insecure)
        handshake.apply(to: &configuration.tls, environment: environment)
        pins.apply(to: &configuration.tls, for: url)
        return configuration
    }

    /// Warns on standard error if the server's certificate is not checked.
    func warnIfInsecure() {
        guard insecure else { return }
        StandardOutput.warn("WARNING: --insecure: the server's certificate is NOT checked.")
        StandardOutput.warn("WARNING: anyone on the way can read and change what is sent, secrets included.")
    }
}

/// The options of the TLS handshake: the requirements for the server, and the client's certificate.
struct HandshakeOptions: ParsableArguments {
    static let passphraseVariable = "HOLDFAST_PASSPHRASE"

    @Option(help: ArgumentHelp("Request this name and check the certificate for it, instead of the URL's host.", valueName: "name"))
    var serverName: String?

    @Option(help: ArgumentHelp("The minimum TLS version: 1.2 or 1.3 (default: 1.2).", valueName: "version"), transform: Self.version)
    var tlsMin: TLSOptions.Version?

    @Option(
        help: ArgumentHelp(
            "Present this client certificate: a PEM file with its chain, or a PKCS#12 file (.p12, .pfx). The passphrase of its key comes "
                + "from $\(Self.passphraseVariable).",
            valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("The client certificate's private key, in PEM (default: in the file of --cert).", valueName: "file"))
    var key: String?

    func validate() throws {
        if key != nil, cert == nil { throw ValidationError("--key is the key of --cert; give both.") }
        if key != nil, isPKCS12 { throw ValidationError("--key and a PKCS#12 file exclude each other: the file has the key.") }
        for (option, file) in [("--cert", cert), ("--key", key)] {
            guard let file, access(file, R_OK) != 0 else { continue }
            throw ValidationError("\(option): cannot read \(file.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    /// The first given option that has no meaning without TLS.
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
        default: throw ValidationError("\"\(text.escapedOnOneLine)\" is not a version of TLS; use 1.2 or 1.3.")
        }
    }
}

/// Stores cookies as JSON, in a file that only its owner may read.
struct CookieFile: Sendable {
    let path: String

    /// Returns a store with the cookies of the file; later changes are written to the file.
    func store() throws -> CookieStore {
        CookieStore(CookieJar(try read())) { store in
            if !write(store.jar.cookies) { StandardOutput.warn("the cookies could not be saved in \(path.escapedOnOneLine)") }
        }
    }

    private func read() throws -> [Cookie] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            return try JSONDecoder().decode([Cookie].self, from: Data(contentsOf: URL(filePath: path)))
        } catch {
            throw ValidationError("--cookies: \(path.escapedOnOneLine) cannot be read, or is not a list of cookies.")
        }
    }

    /// Writes a new file and renames it, so that the file is always complete; only the owner has access from the beginning.
    private func write(_ cookies: [Cookie]) -> Bool {
        let part = "\(path).\(UInt32.random(in: .min ... .max))"
        guard let text = try? cookies.inPrettyJSON() else { return false }
        let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        if (try? file.write(contentsOf: Data(text.utf8))) != nil, (try? file.close()) != nil, rename(part, path) == 0 { return true }
        unlink(part)
        return false
    }
}

/// The proxy options.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Go through this proxy, as http://, https:// or socks5://[name:password@]host:port (default: from HTTPS_PROXY, HTTP_PROXY, "
                + "ALL_PROXY and NO_PROXY).",
            valueName: "url"),
        transform: Self.proxy)
    var proxy: Proxy?

    @Flag(help: "Use no proxy, whatever the environment says.")
    var noProxy = false

    @Option(help: ArgumentHelp("For an https:// proxy, trust only the authorities in this PEM file.", valueName: "file"))
    var proxyCa: String?

    func validate() throws {
        if proxy != nil, noProxy { throw ValidationError("--proxy and --no-proxy exclude each other.") }
        if let proxyCa, access(proxyCa, R_OK) != 0 {
            throw ValidationError("--proxy-ca: cannot read \(proxyCa.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    func choice(environment: [String: String]) -> ProxyChoice {
        proxy.map { .through($0) } ?? (noProxy ? .direct : .environment(ProxyEnvironment(environment)))
    }

    /// The TLS options for a proxy that uses TLS.
    var tls: TLSOptions { TLSOptions(trust: proxyCa.map { .file($0) } ?? .system) }

    /// Parses a proxy URL; the error becomes the parser's message.
    private static func proxy(_ text: String) throws -> Proxy {
        do throws(URLProblem) { return try Proxy(text) } catch { throw ValidationError(error.description) }
    }
}

/// The HTTP version of the upgrade.
struct HTTPVersionOptions: ParsableArguments {
    enum Choice: EnumerableFlag {
        case http1, http2, httpAuto

        static func help(for value: Choice) -> ArgumentHelp? {
            switch value {
            case .http1: "Use HTTP/1.1 only (the default)."
            case .http2: "Use HTTP/2 only (RFC 8441); without TLS with prior knowledge."
            case .httpAuto: "Use HTTP/2 if the other side supports it, otherwise HTTP/1.1."
            }
        }
    }

    @Flag var choice = Choice.http1

    var version: HTTPVersion {
        switch choice {
        case .http1: .http1
        case .http2: .http2
        case .httpAuto: .automatic
        }
    }
}

/// The options for the path to the server: proxies and redirects.
struct RouteOptions: ParsableArguments {
    @OptionGroup var proxies: ProxyOptions

    @Flag(help: "Follow redirects on the same host, up to five in a row.")
    var follow = false

    @Flag(help: "Follow redirects to any host, up to five in a row; tokens and other header fields are not sent there.")
    var followAnywhere = false

    func validate() throws {
        if follow, followAnywhere { throw ValidationError("--follow and --follow-anywhere exclude each other.") }
    }

    func apply(to configuration: inout WebSocketConfiguration, environment: [String: String]) {
        (configuration.proxy, configuration.proxyTLS) = (proxies.choice(environment: environment), proxies.tls)
        if follow || followAnywhere { configuration.redirects = RedirectPolicy(reach: followAnywhere ? .anyHost : .sameHost) }
    }
}
