import ArgumentParser
import Foundation
import Holdfast

/// What decides by which way a server is reached.
struct WayOptions: ParsableArguments {
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

    @Flag(help: "Follow redirects on the same host, up to five in a row.")
    var follow = false

    @Flag(help: "Follow redirects to any host, up to five in a row; tokens and other header fields stay behind.")
    var followAnywhere = false

    func validate() throws {
        if proxy != nil, noProxy { throw ValidationError("--proxy and --no-proxy exclude each other.") }
        if follow, followAnywhere { throw ValidationError("--follow and --follow-anywhere exclude each other.") }
        if let proxyCa, access(proxyCa, R_OK) != 0 {
            throw ValidationError("--proxy-ca: cannot read \(proxyCa.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    func apply(to configuration: inout WebSocketConfiguration, environment: [String: String]) {
        configuration.proxy = proxy.map { .through($0) } ?? (noProxy ? .direct : .environment(ProxyEnvironment(environment)))
        if let proxyCa { configuration.proxyTLS.trust = .file(proxyCa) }
        if follow || followAnywhere { configuration.redirects = RedirectPolicy(reach: followAnywhere ? .anyHost : .sameHost) }
    }

    /// What is wrong with the URL becomes the parser's message.
    private static func proxy(_ text: String) throws -> Proxy {
        do throws(URLProblem) { return try Proxy(text) } catch { throw ValidationError(error.description) }
    }
}
