#if SwiftNIO
    import Holdfast
    import NIOCore

    /// Plays a script to one connection, step by step.
    struct ScriptPlayer: Sendable {
        let number: Int
        let script: ServerScript
        let line: ScriptedLine
        let sleep: @Sendable (Duration) async throws -> Void
        let tell: @Sendable ((inout ScriptedVisit) -> Void) -> Void

        /// Plays to the end of the connection.
        func play() async {
            do throws(ScriptMismatch) {
                let request = try await request()
                if script.steps.first?.opens != true { await accept(request, subprotocol: nil, [:], isProven: true) }
                for (index, step) in script.steps.enumerated() { try await perform(step, index + 1, request) }
                tell { $0.isPlayed = true }
            } catch {
                let close = CloseFrame(.policyViolation, reason: "the script expects \(error.expected)")
                await line.write(ServerFrame.frame(.close, close.payload))
                line.channel.hangUp(.fin)
                tell { ($0.mismatch, $0.isPlayed) = (error, true) }
            }
            // What comes after the script matters to nobody, but has to be taken, so that a ping or a close is seen.
            while true { if case .end = await line.next() { break } }
        }

        private func request() async throws(ScriptMismatch) -> RequestHead {
            let heard = await line.next()
            guard case .request(let request) = heard else { throw mismatch(1, "a request", heard) }
            return request
        }

        private func mismatch(_ step: Int, _ expected: String, _ heard: Heard) -> ScriptMismatch {
            ScriptMismatch(connection: number, step: step, expected: expected, found: heard.words)
        }

        private func perform(_ step: ServerStep, _ index: Int, _ request: RequestHead) async throws(ScriptMismatch) {
            switch step.action {
            case .accept(let subprotocol, let headers, let isProven):
                await accept(request, subprotocol: subprotocol, headers, isProven: isProven)
            case .refuse(let head, let body):
                await line.write(((try? head.encoded()) ?? []) + body)
                line.channel.hangUp(.fin)
            case .neverAnswer: break
            case .expect(let wanted):
                let message = try await message(ServerStep.words(wanted), index)
                guard message == wanted else { throw mismatch(index, ServerStep.words(wanted), .message(message)) }
            case .expectAny(let count):
                for _ in 0..<max(0, count) { _ = try await message("a message", index) }
            case .echo(let count):
                for _ in 0..<max(0, count) {
                    try await write(ServerFrame.bytes(of: try await message("a message to send back", index)), index)
                }
            case .expectPing:
                try await wait("a ping", index) { if case .ping = $0 { true } else { false } }
            case .expectClose(let code):
                try await wait("a close" + (code.map { " with \($0)" } ?? ""), index) {
                    if case .close(let frame) = $0 { code == nil || frame.code == code } else { false }
                }
            case .send(let bytes): try await write(bytes, index)
            case .ping:
                try await write(ServerFrame.frame(.ping, Array("holdfast".utf8)), index)
                try await wait("a pong", index) { if case .pong = $0 { true } else { false } }
            case .wait(let duration): await pause(duration)
            case .read(let isReading): await line.change { $0.isReading = isReading }
            case .ignorePings: await line.change { $0.answersPings = false }
            case .ignoreClose: await line.change { $0.answersClose = false }
            case .close(let frame):
                await line.change { $0.hasClosed = true }
                try await write(ServerFrame.frame(.close, frame.payload), index)
                try await wait("an answer to the close", index) { if case .close = $0 { true } else { false } }
                line.channel.hangUp(.fin)
            case .drop(let ending):
                line.channel.hangUp(ending)
            }
        }

        /// Sleeps, but not beyond the end of the connection.
        private func pause(_ duration: Duration) async {
            // SAFETY: awaited here, and cancelled with this task.
            let sleeping = Task { try? await sleep(duration) }
            line.channel.closeFuture.whenComplete { _ in sleeping.cancel() }
            await line.change { $0.isListening = true }
            await withTaskCancellationHandler {
                await sleeping.value
            } onCancel: {
                sleeping.cancel()
            }
            await line.change { $0.isListening = false }
        }

        private func accept(_ request: RequestHead, subprotocol: String?, _ headers: HeaderFields, isProven: Bool) async {
            let key = isProven ? request.headers["Sec-WebSocket-Key"].flatMap(WebSocketKey.init) : nil
            var fields: HeaderFields = [
                "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": key?.accept ?? "bm90IHRoaXMga2V5",
            ]
            if let subprotocol { fields.add("Sec-WebSocket-Protocol", subprotocol) }
            for field in headers { fields.add(field) }
            await line.write((try? ResponseHead(status: 101, headers: fields).encoded()) ?? [])
        }

        private func write(_ bytes: [UInt8], _ index: Int) async throws(ScriptMismatch) {
            guard await line.write(bytes) else {
                throw mismatch(index, "that the client takes what is sent", .end("a client that does not, or is gone"))
            }
        }

        /// The next message; a ping or pong before it does not matter.
        private func message(_ expected: String, _ index: Int) async throws(ScriptMismatch) -> Message {
            while true {
                let heard = await line.next()
                switch heard {
                case .ping, .pong: continue
                case .message(let message): return message
                default: throw mismatch(index, expected, heard)
                }
            }
        }

        /// Passes over what does not matter, until this comes.
        private func wait(_ expected: String, _ index: Int, _ isIt: (Heard) -> Bool) async throws(ScriptMismatch) {
            while true {
                let heard = await line.next()
                if isIt(heard) { return }
                switch heard {
                case .message, .ping, .pong: continue
                default: throw mismatch(index, expected, heard)
                }
            }
        }
    }
#endif
