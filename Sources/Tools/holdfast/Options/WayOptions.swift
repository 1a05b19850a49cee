import ArgumentParser
import Holdfast

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
