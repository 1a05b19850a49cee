#if SwiftNIO
    import Holdfast
    import NIOCore

    /// One connection of a scripted server, for use from anywhere; no wait is longer than its patience.
    struct ScriptedLine: Sendable {
        let channel: any Channel
        let patience: Duration
        private let handler: NIOLoopBound<ScriptedLineHandler>

        /// Call on the channel's event loop.
        init(_ channel: any Channel, _ handler: ScriptedLineHandler, patience: Duration) {
            (self.channel, self.patience) = (channel, patience)
            self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        }

        /// What the client says next.
        func next() async -> Heard {
            let heard = channel.eventLoop.flatSubmit { handler.value.next(within: patience) }
            do { return try await heard.get() } catch { return .end("the end of the connection") }
        }

        /// Writes, and waits until the system has taken it; false if it did not.
        @discardableResult
        func write(_ bytes: [UInt8]) async -> Bool {
            let done = channel.eventLoop.makePromise(of: Bool.self)
            channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { result in
                if case .success = result { done.succeed(true) } else { done.succeed(false) }
            }
            let alarm = channel.eventLoop.scheduleTask(in: TimeAmount(patience)) { done.succeed(false) }
            defer { alarm.cancel() }
            return (try? await done.futureResult.get()) ?? false
        }

        /// Changes how the connection is answered.
        func change(_ body: @escaping @Sendable (ScriptedLineHandler) -> Void) async {
            try? await channel.eventLoop.submit { body(handler.value) }.get()
        }
    }
#endif
