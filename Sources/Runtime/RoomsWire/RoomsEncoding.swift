package import RoomCore
package import WebSocketCore

/// The encoding of rooms frames, as selected by the WebSocket's subprotocol.
public enum RoomsEncoding: CaseIterable, Hashable, Sendable {
    /// Text messages, each with one JSON object; used by clients that name no subprotocol.
    case json
    /// Binary messages, as defined in rooms.proto.
    case protobuf

    /// The name of the subprotocol.
    public var subprotocol: String {
        switch self {
        case .json: "holdfast.rooms.v1.json"
        case .protobuf: "holdfast.rooms.v1.protobuf"
        }
    }

    /// Creates the encoding of a subprotocol; nil if it is unknown.
    public init?(subprotocol: String) {
        guard let encoding = RoomsEncoding.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = encoding
    }

    /// Whether the frames are text messages.
    public var isText: Bool { self == .json }

    // MARK: - Encoding

    /// Encodes a hub's frame as the payload of a message.
    package func bytes(of frame: HubFrame) -> [UInt8] {
        switch self {
        case .json: frame.json()
        case .protobuf: frame.protobuf()
        }
    }

    /// Encodes a client's frame as the payload of a message.
    package func bytes(of frame: ClientFrame) -> [UInt8] {
        switch self {
        case .json: frame.json()
        case .protobuf: frame.protobuf()
        }
    }

    /// Encodes a hub's frame as a message.
    package func encode(_ frame: HubFrame) -> Message { message(bytes(of: frame)) }

    /// Encodes a client's frame as a message.
    package func encode(_ frame: ClientFrame) -> Message { message(bytes(of: frame)) }

    private func message(_ bytes: [UInt8]) -> Message { isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes) }

    // MARK: - Decoding

    /// Decodes a client's frame from the payload of a message.
    ///
    /// The lengths of types, kinds and payloads are not checked, because the hub answers such errors itself.
    ///
    /// - Returns: The frame; nil for an unknown type, which must be ignored.
    /// - Throws: The decoding error.
    package func decodeClientFrame(_ bytes: UnsafeRawBufferPointer, isText: Bool) throws(FrameError) -> ClientFrame? {
        guard isText == self.isText else { throw FrameError(.wrongMessage) }
        switch self {
        case .json: return try ClientFrame.decode(json: bytes)
        case .protobuf: return try ClientFrame.decode(protobuf: bytes)
        }
    }

    /// Decodes the identity of a publication whose frame ``decodeClientFrame(_:isText:)`` has rejected.
    ///
    /// - Returns: The envelope; nil if the frame is no publication, or cannot be identified.
    package func envelope(of bytes: UnsafeRawBufferPointer, isText: Bool) -> PublicationEnvelope? {
        guard isText == self.isText else { return nil }
        return switch self {
        case .json: PublicationEnvelope(json: bytes)
        case .protobuf: PublicationEnvelope(protobuf: bytes)
        }
    }

    /// Does the same for frames that are not stored: presence, typing and signals.
    package func ephemeralEnvelope(of bytes: UnsafeRawBufferPointer, isText: Bool) -> EphemeralEnvelope? {
        guard isText == self.isText else { return nil }
        return switch self {
        case .json: EphemeralEnvelope(json: bytes)
        case .protobuf: EphemeralEnvelope(protobuf: bytes)
        }
    }

    /// Decodes a hub's frame from the payload of a message.
    ///
    /// - Returns: The frame; nil for an unknown type, which must be ignored.
    /// - Throws: The decoding error.
    package func decodeHubFrame(_ bytes: UnsafeRawBufferPointer, isText: Bool) throws(FrameError) -> HubFrame? {
        guard isText == self.isText else { throw FrameError(.wrongMessage) }
        switch self {
        case .json: return try HubFrame.decode(json: bytes)
        case .protobuf: return try HubFrame.decode(protobuf: bytes)
        }
    }

    /// Decodes a hub's frame from a message.
    ///
    /// - Returns: The frame; nil for an unknown type, which must be ignored.
    /// - Throws: The decoding error.
    package func decodeHubFrame(_ message: Message) throws(FrameError) -> HubFrame? {
        try lend(message) { bytes, isText throws(FrameError) in try decodeHubFrame(bytes, isText: isText) }
    }

    /// Decodes a client's frame from a message.
    ///
    /// - Returns: The frame; nil for an unknown type, which must be ignored.
    /// - Throws: The decoding error.
    package func decodeClientFrame(_ message: Message) throws(FrameError) -> ClientFrame? {
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
