import ArgumentParser
import Foundation
import Holdfast

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
