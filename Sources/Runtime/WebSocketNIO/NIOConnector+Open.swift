import NIOCore
import WebSocketCore
import WebSocketRuntime

extension NIOConnector {
    /// Opens a connection, through the proxy if there is one, with TLS for a secure URL unless the system does that.
    ///
    /// What stands at its end completes the promise; it fails for what comes before, and ends the connection when it fails.
    static func open<Value>(
        _ options: ClientOptions, on group: any EventLoopGroup, trust: SystemTrust? = nil, isInspection: Bool = false,
        for promise: EventLoopPromise<Value>, _ last: @escaping @Sendable () -> any ChannelHandler
    ) throws(TransportError) {
        let url = options.url
        let isOwnTLS = url.isSecure && trust == nil
        let stage: ProxyStage?
        let tls: ClientTLS?
        do throws(TransportError) {
            tls = isOwnTLS ? try ClientTLS(options.tls, host: url.host, place: "\(url)", isInspection: isInspection) : nil
            stage = try options.proxy.map { proxy throws(TransportError) in try ProxyStage(proxy, options) }
        } catch {
            // Nobody waits for it, but no promise may be dropped.
            promise.fail(error)
            throw error
        }
        open(options, on: group, trust: trust) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try stage?.add(to: pipeline) { promise.fail($0) }
                try tls?.install(on: pipeline)
                try pipeline.addHandler(last())
            }
        }
        .whenComplete { result in
            switch result {
            // The attempt may have been given up meanwhile: then nobody waits for this channel.
            case .success(let channel): promise.futureResult.whenFailure { _ in channel.close(promise: nil) }
            case .failure(let error): promise.fail(stage?.failure(connecting: error) ?? TransportError(connecting: error, to: url))
            }
        }
    }

    /// Waits for a result; when the task is cancelled, that is the result.
    static func result<Value: Sendable>(
        of future: EventLoopFuture<Value>, else options: ClientOptions, onCancel: (@Sendable (TransportError) -> Void)? = nil
    ) async throws(TransportError) -> Value {
        // What others wait for as well is not ours to cancel.
        let own = future.eventLoop.makePromise(of: Value.self)
        future.cascade(to: own)
        do {
            return try await withTaskCancellationHandler {
                try await own.futureResult.get()
            } onCancel: {
                let error = TransportError(cancelledAt: options.url)
                onCancel?(error)
                own.fail(error)
            }
        } catch {
            throw error as? TransportError ?? TransportError(.lost, "\(error)", underlying: error)
        }
    }
}

extension TransportError {
    init(cancelledAt url: WebSocketURL) { self.init(.cancelled, "connecting to \(url) was cancelled") }
}
