import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketNIO

/// A frame as it goes to clients of one encoding; many share its bytes.
struct WireFrame: Sendable {
    /// What its place among other frames depends on.
    enum Role: Sendable {
        case ack, entries, members, welcome, other
    }
    let role: Role
    let kind: MessageKind
    let bytes: [UInt8]
    /// The same as the sockets of one event loop share it; nil of what goes to one client.
    private(set) var shared: SharedMessage?

    init(_ frame: HubFrame, _ encoding: RoomsEncoding) {
        (kind, bytes) = (encoding.isText ? .text : .binary, encoding.bytes(of: frame))
        role =
            switch frame {
            case .acks: .ack
            case .entries: .entries
            case .members: .members
            case .welcome: .welcome
            default: .other
            }
    }

    /// For many clients of one event loop.
    var onLoop: WireFrame {
        var frame = self
        frame.shared = SharedMessage(kind, bytes)
        return frame
    }
}

/// A frame in every encoding that somebody speaks, each made once.
struct SharedFrame: Sendable {
    private var json: WireFrame?
    private var protobuf: WireFrame?
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

    /// For the clients of one event loop.
    var onLoop: SharedFrame {
        var frame = self
        (frame.json, frame.protobuf) = (json?.onLoop, protobuf?.onLoop)
        return frame
    }
}
