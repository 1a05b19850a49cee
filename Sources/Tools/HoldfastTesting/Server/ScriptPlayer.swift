#if SwiftNIO
    public import Holdfast
    import NIOCore

    /// Plays a script on one connection, step by step.
    struct ScriptPlayer: Sendable {
        let number: Int
        let script: ServerScript
        let line: ScriptedLine
        let sleep: @Sendable (Duration) async throws -> Void
        let notify: @Sendable ((inout ScriptedVisit) -> Void) -> Void

        /// Plays the script, then reads until the end of the connection.
        func play() async {
            do throws(ScriptMismatch) {
                let request = try await request()
                if script.steps.first?.opens != true { await accept(request, subprotocol: nil, [:], isProven: true) }
                for (index, step) in script.steps.enumerated() { try await perform(step, index + 1, request) }
                notify { $0.isPlayed = true }
            } catch {
                let close = CloseFrame(.policyViolation, reason: "the script expects \(error.expected)")
                await line.write(ServerFrame.frame(.close, close.payload))
                line.channel.hangUp(.fin)
                notify { ($0.mismatch, $0.isPlayed) = (error, true) }
            }
            // After the script, events are ignored, but must be taken so that pings and closes are still seen.
            while true { if case .end = await line.next() { break } }
        }

        private func request() async throws(ScriptMismatch) -> RequestHead {
            let heard = await line.next()
            guard case .request(let request) = heard else { throw mismatch(1, "a request", heard) }
            return request
        }

        private func mismatch(_ step: Int, _ expected: String, _ heard: ScriptedInput) -> ScriptMismatch {
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

        /// Sleeps, but no longer than the connection lasts.
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
                throw mismatch(index, "a client that reads what is sent", .end("a client that does not read, or is gone"))
            }
        }

        /// Waits for the next message; skips pings and pongs before it.
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

        /// Skips messages, pings and pongs until the expected event comes.
        private func wait(_ expected: String, _ index: Int, _ isIt: (ScriptedInput) -> Bool) async throws(ScriptMismatch) {
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

    /// The record of one connection to a ``ScriptedServer``.
    public struct ScriptedVisit: Hashable, Sendable {
        /// How many messages are kept, and how many bytes of them; further messages are only counted.
        static let (mostMessages, mostBytes) = (10_000, 16 << 20)

        /// The request to open the connection; nil until it has arrived.
        public private(set) var request: RequestHead?
        /// The received messages, in order: the first 10,000 of them, and 16 MiB at most.
        public private(set) var messages: [Message] = []
        /// The number of received messages.
        public private(set) var messageCount = 0
        /// The number of received pings.
        public private(set) var pingCount = 0
        /// The client's close frame.
        public private(set) var close: CloseFrame?
        /// Whether the connection is over.
        public internal(set) var isOver = false
        /// Whether the script has ended, including by a mismatch.
        public internal(set) var isPlayed = false
        /// The mismatch with the script, if there was one.
        public internal(set) var mismatch: ScriptMismatch?

        private var byteCount = 0

        mutating func record(_ heard: ScriptedInput) {
            switch heard {
            case .request(let request): self.request = request
            case .message(let message): record(message)
            case .ping: pingCount += 1
            case .close(let frame): close = frame
            case .pong, .end, .silence: break
            }
        }

        private mutating func record(_ message: Message) {
            messageCount += 1
            byteCount += message.byteCount
            if messages.count < Self.mostMessages, byteCount <= Self.mostBytes { messages.append(message) }
        }
    }

    /// A handle for one connection of a scripted server, usable from any task; no wait is longer than its patience.
    struct ScriptedLine: Sendable {
        let channel: any Channel
        let patience: Duration
        private let handler: NIOLoopBound<ScriptedLineHandler>

        /// Creates the handle; call it on the channel's event loop.
        init(_ channel: any Channel, _ handler: ScriptedLineHandler, patience: Duration) {
            (self.channel, self.patience) = (channel, patience)
            self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        }

        /// Returns the client's next event.
        func next() async -> ScriptedInput {
            let heard = channel.eventLoop.flatSubmit { handler.value.next(within: patience) }
            do { return try await heard.get() } catch { return .end("the end of the connection") }
        }

        /// Writes bytes and waits until the system has taken them; returns false if it did not.
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

        /// Changes how the handler answers the client.
        func change(_ body: @escaping @Sendable (ScriptedLineHandler) -> Void) async {
            try? await channel.eventLoop.submit { body(handler.value) }.get()
        }
    }

    /// Parses a client's bytes into messages and control frames.
    struct ClientSpeech {
        /// The largest accepted message, in bytes.
        static let limit = 16 << 20

        private var buffer = ByteBuffer()
        private var partial: (kind: Opcode, payload: [UInt8])?

        /// The number of bytes that were fed and not parsed yet.
        var byteCount: Int { buffer.readableBytes }

        mutating func feed(_ bytes: inout ByteBuffer) {
            buffer.discardReadBytes()
            buffer.writeBuffer(&bytes)
        }

        /// Returns the next event; nil if it is not complete yet.
        mutating func next() throws(ProtocolViolation) -> ScriptedInput? {
            while let (header, payload) = try frame() {
                switch header.opcode {
                case .ping: return .ping(payload)
                case .pong: return .pong
                case .close: return .close(try Self.closeFrame(payload))
                case .continuation: try extend(with: payload)
                default: try begin(header.opcode, payload)
                }
                guard header.isFinal, let whole = partial.take() else { continue }
                return .message(try Self.message(whole.kind, whole.payload))
            }
            return nil
        }

        private mutating func frame() throws(ProtocolViolation) -> (header: FrameHeader, payload: [UInt8])? {
            let head = try buffer.withUnsafeReadableBytes { bytes throws(ProtocolViolation) in
                try FrameHeader.parse(bytes, allowsCompression: false)
            }
            guard let (header, length) = head else { return nil }
            guard let mask = header.mask else { throw ProtocolViolation(.missingMask, "opcode \(header.opcode.rawValue)") }
            guard header.payloadLength <= Self.limit else {
                throw ProtocolViolation(.messageTooBig, "\(header.payloadLength) bytes in one frame")
            }
            guard buffer.readableBytes >= length + header.payloadLength else { return nil }
            buffer.moveReaderIndex(forwardBy: length)
            var payload = buffer.readBytes(length: header.payloadLength) ?? []
            payload.withUnsafeMutableBytes { mask.apply(to: $0) }
            return (header, payload)
        }

        private mutating func begin(_ kind: Opcode, _ payload: [UInt8]) throws(ProtocolViolation) {
            guard partial == nil else { throw ProtocolViolation(.expectedContinuation, "a message within a message") }
            partial = (kind, payload)
        }

        private mutating func extend(with payload: [UInt8]) throws(ProtocolViolation) {
            guard let size = partial?.payload.count else { throw ProtocolViolation(.unexpectedContinuation, "no message was begun") }
            guard size + payload.count <= Self.limit else { throw ProtocolViolation(.messageTooBig, "more than \(Self.limit) bytes") }
            partial?.payload += payload
        }

        private static func message(_ kind: Opcode, _ payload: [UInt8]) throws(ProtocolViolation) -> Message {
            guard kind == .text else { return .binary(payload) }
            var validator = UTF8Validator()
            let isText = payload.withUnsafeBytes { validator.validate($0) } && validator.isComplete
            guard isText else { throw ProtocolViolation(.invalidUTF8, "a text message") }
            return .text(String(decoding: payload, as: UTF8.self))
        }

        private static func closeFrame(_ payload: [UInt8]) throws(ProtocolViolation) -> CloseFrame {
            let frame = payload.withUnsafeBytes { bytes in
                Result { () throws(ProtocolViolation) in try CloseFrame(payload: bytes) }
            }
            return try frame.get()
        }
    }
#endif
