public import RoomCore
public import WebSocketCore

/// How the frames of rooms are written; the subprotocol of the WebSocket names it.
public enum RoomsEncoding: CaseIterable, Hashable, Sendable {
    /// Text messages, one object of JSON each; what a client speaks that names no subprotocol.
    case json
    /// Binary messages, as rooms.proto has them.
    case protobuf

    /// The subprotocol's name.
    public var subprotocol: String {
        switch self {
        case .json: "holdfast.rooms.v1.json"
        case .protobuf: "holdfast.rooms.v1.protobuf"
        }
    }

    /// The encoding that a subprotocol names; nil if none does.
    public init?(subprotocol: String) {
        guard let encoding = RoomsEncoding.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = encoding
    }

    /// Whether its frames are text messages.
    public var isText: Bool { self == .json }

    // MARK: - Writing

    /// The payload of a message that says a frame of a hub.
    public func bytes(of frame: HubFrame) -> [UInt8] {
        switch self {
        case .json: frame.json()
        case .protobuf: frame.protobuf()
        }
    }

    /// The payload of a message that says a frame of a client.
    public func bytes(of frame: ClientFrame) -> [UInt8] {
        switch self {
        case .json: frame.json()
        case .protobuf: frame.protobuf()
        }
    }

    /// A message that says a frame of a hub.
    public func encode(_ frame: HubFrame) -> Message { message(bytes(of: frame)) }

    /// A message that says a frame of a client.
    public func encode(_ frame: ClientFrame) -> Message { message(bytes(of: frame)) }

    private func message(_ bytes: [UInt8]) -> Message { isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes) }

    // MARK: - Reading

    /// Reads a client's frame from the payload of a message.
    ///
    /// How long types, kinds and payloads are is not looked at, for the hub has an answer to that.
    ///
    /// - Returns: Nil of a type that nobody knows, which is to be ignored.
    /// - Throws: What is wrong with the bytes.
    public func decodeClientFrame(_ bytes: UnsafeRawBufferPointer, isText: Bool) throws(FrameError) -> ClientFrame? {
        guard isText == self.isText else { throw FrameError(.wrongMessage) }
        switch self {
        case .json: return try ClientFrame.decode(json: bytes)
        case .protobuf: return try ClientFrame.decode(protobuf: bytes)
        }
    }

    /// Reads what names a publication, where ``decodeClientFrame(_:isText:)`` says that the frame is none.
    ///
    /// - Returns: Nil if it is no publication, or nobody can tell which one.
    package func envelope(of bytes: UnsafeRawBufferPointer, isText: Bool) -> PublicationEnvelope? {
        guard isText == self.isText else { return nil }
        return switch self {
        case .json: PublicationEnvelope(json: bytes)
        case .protobuf: PublicationEnvelope(protobuf: bytes)
        }
    }

    /// The same of what nobody stores: presence, typing or a signal.
    package func ephemeralEnvelope(of bytes: UnsafeRawBufferPointer, isText: Bool) -> EphemeralEnvelope? {
        guard isText == self.isText else { return nil }
        return switch self {
        case .json: EphemeralEnvelope(json: bytes)
        case .protobuf: EphemeralEnvelope(protobuf: bytes)
        }
    }

    /// Reads a hub's frame from the payload of a message.
    ///
    /// - Returns: Nil of a type that nobody knows, which is to be ignored.
    /// - Throws: What is wrong with the bytes.
    public func decodeHubFrame(_ bytes: UnsafeRawBufferPointer, isText: Bool) throws(FrameError) -> HubFrame? {
        guard isText == self.isText else { throw FrameError(.wrongMessage) }
        switch self {
        case .json: return try HubFrame.decode(json: bytes)
        case .protobuf: return try HubFrame.decode(protobuf: bytes)
        }
    }

    /// Reads a hub's frame from a message.
    ///
    /// - Returns: Nil of a type that nobody knows, which is to be ignored.
    /// - Throws: What is wrong with the message.
    public func decodeHubFrame(_ message: Message) throws(FrameError) -> HubFrame? {
        try lend(message) { bytes, isText throws(FrameError) in try decodeHubFrame(bytes, isText: isText) }
    }

    /// Reads a client's frame from a message.
    ///
    /// - Returns: Nil of a type that nobody knows, which is to be ignored.
    /// - Throws: What is wrong with the message.
    public func decodeClientFrame(_ message: Message) throws(FrameError) -> ClientFrame? {
        try lend(message) { bytes, isText throws(FrameError) in try decodeClientFrame(bytes, isText: isText) }
    }

    private func lend<Frame>(
        _ message: Message, to read: (UnsafeRawBufferPointer, Bool) throws(FrameError) -> Frame?
    ) throws(FrameError) -> Frame? {
        let result: Result<Frame?, FrameError>
        switch message {
        case .text(var text):
            result = text.withUTF8 { bytes in Result { () throws(FrameError) in try read(UnsafeRawBufferPointer(bytes), true) } }
        case .binary(let payload):
            result = payload.withUnsafeBytes { bytes in Result { () throws(FrameError) in try read(bytes, false) } }
        }
        return try result.get()
    }
}
