import Holdfast
import WebSocketNIO

/// Starts the handlers of the connections that open on one event loop.
///
/// An object, so that a connection's task holds a reference to all that it needs.
final class Reception: Sendable {
    private let arrivals: Arrivals
    private let channels: ChannelRegistry
    private let handler: WebSocketServer.Handler
    private let placement: HandlerPlacement
    private let pingTimeout: Duration

    init(
        _ arrivals: Arrivals, _ channels: ChannelRegistry, _ configuration: WebSocketServerConfiguration,
        _ handler: @escaping WebSocketServer.Handler
    ) {
        (self.arrivals, self.channels, self.handler) = (arrivals, channels, handler)
        (placement, pingTimeout) = (configuration.handlers, configuration.timeouts.ping)
    }

    /// Runs until no more connections will come, and the last handler has returned.
    func run(on loop: isolated LoopActor) async {
        await withDiscardingTaskGroup { group in
            while let one = await arrivals.next(on: loop) {
                switch placement {
                case .pool: group.addTask { await self.serve(one, on: nil) }
                case .eventLoop:
                    if #available(macOS 26, iOS 26, *) {
                        group.addImmediateTask { await self.serve(one, on: loop) }
                    } else {
                        group.addTask { await self.serve(one, on: loop) }
                    }
                }
            }
        }
    }

    private func serve(_ one: Arrivals.Arrival, on loop: isolated LoopActor?) async {
        if !channels.open(one.socket) { _ = await one.socket.close(.shutdown) }
        let connection = WebSocketConnection(one.socket, pingTimeout: pingTimeout)
        do {
            try await handler(connection, UpgradeRequest(one.head, from: one.peer))
            await connection.close()
        } catch {
            await connection.close(code: .internalError)
        }
        channels.end(one.socket.id)
    }
}
