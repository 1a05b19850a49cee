#if SwiftNIO
    public import Holdfast

    /// What a ``ScriptedServer`` knows of one connection.
    public struct ScriptedVisit: Hashable, Sendable {
        /// How many messages are kept, and how many bytes of them; further ones are only counted.
        static let (mostMessages, mostBytes) = (10_000, 16 << 20)

        /// The request to open the connection; nil until it has come.
        public private(set) var request: RequestHead?
        /// The messages that came, in order: the first 10,000 of them, and 16 MiB at most.
        public private(set) var messages: [Message] = []
        /// How many messages came.
        public private(set) var messageCount = 0
        /// How many pings came.
        public private(set) var pingCount = 0
        /// The client's close frame.
        public private(set) var close: CloseFrame?
        /// Whether the connection is over.
        public internal(set) var isOver = false
        /// Whether the script has come to its end, be it that the client did not do what it expects.
        public internal(set) var isPlayed = false
        /// What the client did not do as the script expects.
        public internal(set) var mismatch: ScriptMismatch?

        private var byteCount = 0

        mutating func record(_ heard: Heard) {
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
#endif
