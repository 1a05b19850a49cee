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
