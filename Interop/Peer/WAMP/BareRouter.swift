import HoldfastRouter
import Logging

/// `HoldfastPeer wamp router PORT`: our router without a log, for `Benchmarks/wamp`.
enum BareRouter {
    static func run(port: Int) async throws {
        var configuration = WAMPRouterConfiguration()
        configuration.server.port = port
        configuration.logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        try await WAMPRouter(configuration).run()
    }
}
