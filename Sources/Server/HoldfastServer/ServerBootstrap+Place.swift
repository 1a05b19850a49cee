import NIOCore
import NIOPosix

extension ServerBootstrap {
    /// Listens where a server is to listen.
    func bind(to configuration: WebSocketServerConfiguration) -> EventLoopFuture<any Channel> {
        guard let path = configuration.unixSocket else { return bind(host: configuration.host, port: configuration.port) }
        return bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true)
    }
}
