import DequeModule
import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketNIO

/// The outbound queue of one client, in three lanes: entries, answers (including acks), and ephemeral frames.
///
/// Stored frames keep their order, except that acks do not wait for entries: an ack is independent of them, and it frees the client's
/// outbox. Ephemeral frames alternate with the rest, so an ephemeral frame waits for at most one frame of entries; but acks always go
/// first. All lanes are bounded. Ephemeral frames beyond the limit are dropped, because they would be outdated on arrival.
struct OutboundLanes {
    /// What to do after a frame was added.
    enum Verdict: Equatable {
        case waits
        case dropped
        /// The client gets no more entries until the queue is empty.
        case congested
        /// The queue is too long even so: the client is closed.
        case tooMuch
    }
    private enum Lane {
        case entries, answers, ephemeral
    }

    private var entries: Deque<EncodedFrame> = []
    /// Each answer with the number of entry frames that were added before it.
    private var answers: Deque<(frame: EncodedFrame, after: Int)> = []
    private var ephemeral: Deque<EncodedFrame> = []
    /// The number of entry frames added, and taken, in all.
    private var added = 0
    private var taken = 0
    private(set) var storedBytes = 0
    private(set) var ephemeralBytes = 0
    private(set) var isCongested = false
    /// Whether an ephemeral frame is next.
    private var isEphemeralNext = false
    private let limits: HubConfiguration.Lanes

    init(limits: HubConfiguration.Lanes) { self.limits = limits }

    var isEmpty: Bool { entries.isEmpty && answers.isEmpty && ephemeral.isEmpty }

    /// Adds a frame to its lane.
    mutating func add(_ frame: EncodedFrame, isEphemeral: Bool) -> Verdict {
        if isEphemeral {
            // When a client has caught up, all its rooms send it their members at once.
            let most = frame.role == .members ? limits.stored : limits.ephemeral
            guard ephemeralBytes + frame.bytes.count <= most else { return drop(frame) }
            ephemeralBytes += frame.bytes.count
            ephemeral.append(frame)
            return .waits
        }
        storedBytes += frame.bytes.count
        if frame.role == .entries {
            added += 1
            entries.append(frame)
        } else {
            answers.append((frame, after: added))
        }
        guard storedBytes <= limits.most else { return .tooMuch }
        guard storedBytes > limits.stored, !isCongested else { return .waits }
        isCongested = true
        return .congested
    }

    /// Drops an ephemeral frame; a dropped list of members marks the client as congested, so that it gets the members again later.
    private mutating func drop(_ frame: EncodedFrame) -> Verdict {
        guard frame.role == .members, !isCongested else { return .dropped }
        isCongested = true
        return .congested
    }

    /// Writes frames as long as `write` accepts them; returns true if the client is no longer congested.
    mutating func drain(_ write: (EncodedFrame) -> Bool) -> Bool {
        while let (lane, frame) = next, write(frame) { removeNext(of: lane) }
        guard isEmpty, isCongested else { return false }
        isCongested = false
        return true
    }

    private var next: (Lane, EncodedFrame)? {
        let answer = answers.first
        if let answer, answer.frame.role == .ack { return (.answers, answer.frame) }
        if isEphemeralNext || (entries.isEmpty && answer == nil), let frame = ephemeral.first { return (.ephemeral, frame) }
        if let answer, answer.after <= taken { return (.answers, answer.frame) }
        return entries.first.map { (.entries, $0) }
    }

    private mutating func removeNext(of lane: Lane) {
        isEphemeralNext = lane != .ephemeral
        switch lane {
        case .ephemeral: ephemeralBytes -= ephemeral.removeFirst().bytes.count
        case .answers: storedBytes -= answers.removeFirst().frame.bytes.count
        case .entries:
            taken += 1
            storedBytes -= entries.removeFirst().bytes.count
        }
    }
}

/// An encoded frame for clients of one encoding; many clients share its bytes.
struct EncodedFrame: Sendable {
    /// The role that decides the frame's order among other frames.
    enum Role: Sendable {
        case ack, entries, members, welcome, other
    }
    let role: Role
    let kind: MessageKind
    let bytes: [UInt8]
    /// The message that the sockets of one event loop share; nil for a frame to one client.
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

    /// Returns the frame for many clients of one event loop.
    var onLoop: EncodedFrame {
        var frame = self
        frame.shared = SharedMessage(kind, bytes)
        return frame
    }
}

/// A frame in every encoding in use, each encoded once.
struct SharedFrame: Sendable {
    private var json: EncodedFrame?
    private var protobuf: EncodedFrame?
    let isEphemeral: Bool

    init(_ frame: HubFrame, for encodings: Set<RoomsEncoding>) {
        json = encodings.contains(.json) ? EncodedFrame(frame, .json) : nil
        protobuf = encodings.contains(.protobuf) ? EncodedFrame(frame, .protobuf) : nil
        isEphemeral = frame.isEphemeral
    }

    /// Returns the frame; nil for an encoding that was not in use when it was created.
    subscript(_ encoding: RoomsEncoding) -> EncodedFrame? {
        switch encoding {
        case .json: json
        case .protobuf: protobuf
        }
    }

    /// Returns the frame for the clients of one event loop.
    var onLoop: SharedFrame {
        var frame = self
        (frame.json, frame.protobuf) = (json?.onLoop, protobuf?.onLoop)
        return frame
    }
}
