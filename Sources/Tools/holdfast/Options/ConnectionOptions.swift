import ArgumentParser
import Foundation
import Holdfast

/// What decides how a connection is made.
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
            A subprotocol to offer, in order of preference; repeatable. One that is not well known may be a token: it stays behind where a \
            redirect leaves the origin.
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

    @Flag(help: "Take any certificate for any host. Anyone on the way can then read and change everything.")
    var insecure = false

    @OptionGroup var handshake: HandshakeOptions

    @OptionGroup var pins: PinOptions

    @OptionGroup var way: WayOptions

    @OptionGroup var http: HTTPVersionOptions

    @Flag(help: "Do not offer permessage-deflate.")
    var noCompression = false

    @Option(help: ArgumentHelp("The largest message taken, such as 65536, 64K or 16M (default: 1M).", valueName: "bytes"))
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
            // Its name is not told: it may be a secret.
            throw ValidationError("--subprotocol: number \(index + 1) is not a token; use letters, digits and - . _")
        }
        let authorizations = [
            bearer.map { _ in "--bearer" }, login.basic.map { _ in "--basic" },
            header.contains { $0.field.name.lowercased() == "authorization" } ? "--header 'Authorization: …'" : nil,
        ]
        let given = authorizations.compactMap(\.self)
        if given.count > 1 { throw ValidationError("\(given.joined(separator: " and ")) exclude each other.") }
    }

    /// Checks what only matters with this URL.
    func validate(for url: WebSocketURL) throws {
        guard !url.isSecure else { return }
        if ca != nil { throw ValidationError("--ca is for wss: URLs; ws: is not encrypted.") }
        if insecure { throw ValidationError("--insecure is for wss: URLs; ws: is not encrypted in the first place.") }
        if let option = pins.pin.isEmpty ? handshake.secureOption : "--pin" {
            throw ValidationError("\(option) is for wss: URLs; ws: has no certificates.")
        }
    }

    /// The configuration that the options ask for; the token comes from `environment` unless given.
    func configuration(for url: WebSocketURL, environment: [String: String]) throws -> WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        for header in header { configuration.headers.add(header.field) }
        try login.apply(to: &configuration, environment: environment)
        if let token = bearer ?? (configuration.headers["Authorization"] == nil ? environment[Self.bearerVariable] : nil) {
            // The token must not stand in the message.
            guard !token.isEmpty, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
                throw ValidationError("the bearer token is empty, or has characters that a header cannot carry (spaces, line ends).")
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
}

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

/// Cookies in a file that only its owner may read, as JSON.
struct CookieFile: Sendable {
    let path: String

    /// A store with what is in the file, which follows what becomes of it.
    func store() throws -> CookieStore {
        CookieStore(CookieJar(try read())) { store in
            if !write(store.jar.cookies) { StandardOutput.warn("the cookies could not be kept in \(path.escapedOnOneLine)") }
        }
    }

    private func read() throws -> [Cookie] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            return try JSONDecoder().decode([Cookie].self, from: Data(contentsOf: URL(filePath: path)))
        } catch {
            throw ValidationError("--cookies: \(path.escapedOnOneLine) cannot be read, or is no list of cookies.")
        }
    }

    /// Beside the file first, so that it is whole or as it was; closed to others from its first moment on.
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

/// Who opens TCP connections on our behalf.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Go through this proxy, as http://, https:// or socks5://[name:password@]host:port (default: what HTTPS_PROXY, HTTP_PROXY, "
                + "ALL_PROXY and NO_PROXY say).",
            valueName: "url"),
        transform: Self.proxy)
    var proxy: Proxy?

    @Flag(help: "Go through no proxy, whatever the environment says.")
    var noProxy = false

    @Option(help: ArgumentHelp("Trust only the authorities in this PEM file to vouch for an https:// proxy.", valueName: "file"))
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

    /// How a proxy is checked that speaks TLS.
    var tls: TLSOptions { TLSOptions(trust: proxyCa.map { .file($0) } ?? .system) }

    /// What is wrong with the URL becomes the parser's message.
    private static func proxy(_ text: String) throws -> Proxy {
        do throws(URLProblem) { return try Proxy(text) } catch { throw ValidationError(error.description) }
    }
}

/// Which HTTP a WebSocket begins with.
struct HTTPVersionOptions: ParsableArguments {
    enum Choice: EnumerableFlag {
        case http1, http2, httpAuto

        static func help(for value: Choice) -> ArgumentHelp? {
            switch value {
            case .http1: "Speak HTTP/1.1 only (the default)."
            case .http2: "Speak HTTP/2 only (RFC 8441); without TLS by prior knowledge."
            case .httpAuto: "Speak HTTP/2 where the other side does, otherwise HTTP/1.1."
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

/// What decides by which way a server is reached.
struct WayOptions: ParsableArguments {
    @OptionGroup var proxies: ProxyOptions

    @Flag(help: "Follow redirects on the same host, up to five in a row.")
    var follow = false

    @Flag(help: "Follow redirects to any host, up to five in a row; tokens and other header fields stay behind.")
    var followAnywhere = false

    func validate() throws {
        if follow, followAnywhere { throw ValidationError("--follow and --follow-anywhere exclude each other.") }
    }

    func apply(to configuration: inout WebSocketConfiguration, environment: [String: String]) {
        (configuration.proxy, configuration.proxyTLS) = (proxies.choice(environment: environment), proxies.tls)
        if follow || followAnywhere { configuration.redirects = RedirectPolicy(reach: followAnywhere ? .anyHost : .sameHost) }
    }
}
