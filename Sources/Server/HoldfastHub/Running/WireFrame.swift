import RoomCore
import RoomsWire
import WebSocketCore

/// A frame as it goes to clients of one encoding; many share its bytes.
struct WireFrame: Sendable {
    let kind: MessageKind
    let bytes: [UInt8]

    init(_ frame: HubFrame, _ encoding: RoomsEncoding) {
        (kind, bytes) = (encoding.isText ? .text : .binary, encoding.bytes(of: frame))
    }
}

/// A frame in every encoding that somebody speaks, each made once.
struct SharedFrame: Sendable {
    private let json: WireFrame?
    private let protobuf: WireFrame?
    let isEphemeral: Bool

    init(_ frame: HubFrame, for encodings: Set<RoomsEncoding>) {
        json = encodings.contains(.json) ? WireFrame(frame, .json) : nil
        protobuf = encodings.contains(.protobuf) ? WireFrame(frame, .protobuf) : nil
        isEphemeral = frame.isEphemeral
    }

    /// Nil for an encoding that nobody spoke when it was made.
    subscript(_ encoding: RoomsEncoding) -> WireFrame? {
        switch encoding {
        case .json: json
        case .protobuf: protobuf
        }
    }
}
