import DequeModule
import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketNIO

/// What waits to be written to one client, in three lanes: entries; acks and answers; what nobody stores.
///
/// What is stored goes in its order, but that an ack does not wait for entries: they are news to it, and it is what frees the client's outbox.
/// What nobody stores takes turns with the rest, so that it never waits for more than one frame of entries, but never goes before an ack that
/// can go. All is bounded. What nobody stores is dropped when there is too much of it, for it is old when it arrives.
struct OutboundLanes {
    /// What is to be done after something was added.
    enum Verdict: Equatable {
        case waits
        case dropped
        /// From here on the client gets no entries, until all is written.
        case congested
        /// Even so there is too much: the client is sent away.
        case tooMuch
    }
    private enum Lane {
        case entries, answers, ephemeral
    }

    private var entries: Deque<WireFrame> = []
    /// Each with the number of entries' frames that came before it.
    private var answers: Deque<(frame: WireFrame, after: Int)> = []
    private var ephemeral: Deque<WireFrame> = []
    /// Frames of entries that were added, and taken, in all.
    private var added = 0
    private var taken = 0
    private(set) var storedBytes = 0
    private(set) var ephemeralBytes = 0
    private(set) var isCongested = false
    /// Whether it is the turn of what nobody stores.
    private var isEphemeralNext = false
    private let limits: HubConfiguration.Lanes

    init(limits: HubConfiguration.Lanes) { self.limits = limits }

    var isEmpty: Bool { entries.isEmpty && answers.isEmpty && ephemeral.isEmpty }

    /// Lets a frame wait.
    mutating func add(_ frame: WireFrame, isEphemeral: Bool) -> Verdict {
        if isEphemeral {
            // All rooms of a client that has caught up tell it who is there, at once.
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

    /// Who is present is no news that another like it makes up for: a client that misses some is told anew when it has caught up.
    private mutating func drop(_ frame: WireFrame) -> Verdict {
        guard frame.role == .members, !isCongested else { return .dropped }
        isCongested = true
        return .congested
    }

    /// Writes as long as `write` takes; true if a client that was congested no longer is.
    mutating func drain(_ write: (WireFrame) -> Bool) -> Bool {
        while let (lane, frame) = next, write(frame) { removeNext(of: lane) }
        guard isEmpty, isCongested else { return false }
        isCongested = false
        return true
    }

    private var next: (Lane, WireFrame)? {
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
