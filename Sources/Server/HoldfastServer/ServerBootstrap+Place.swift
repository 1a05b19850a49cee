import NIOCore
import NIOPosix

/// What a server listens with.
struct Listener: Sendable {
    let channel: any Channel
    /// nil: it listens on a port.
    let file: UnixSocketFile?
}

extension ServerBootstrap {
    /// Listens where a server is to listen.
    func bind(to configuration: WebSocketServerConfiguration, backlog: Int32) async throws -> Listener {
        guard let path = configuration.unixSocket else {
            return Listener(channel: try await bind(host: configuration.host, port: configuration.port).get(), file: nil)
        }
        let file = try UnixSocketFile.claim(path, permissions: configuration.unixSocketPermissions, backlog: backlog)
        do {
            return Listener(channel: try await withBoundSocket(file.descriptor).get(), file: file)
        } catch {
            file.remove()
            throw error
        }
    }
}
