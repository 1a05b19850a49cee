import DequeModule

/// What waits to be written to one client: entries, acks and answers in one lane, what nobody stores in another.
///
/// Both are bounded. What nobody stores is dropped when there is too much of it, for it is old when it arrives.
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

    private var stored: Deque<WireFrame> = []
    private var ephemeral: Deque<WireFrame> = []
    private(set) var storedBytes = 0
    private(set) var ephemeralBytes = 0
    private(set) var isCongested = false
    /// Whether the next comes out of the lane of what nobody stores.
    private var isEphemeralNext = false
    private let limits: HubConfiguration.Lanes

    init(limits: HubConfiguration.Lanes) { self.limits = limits }

    var isEmpty: Bool { stored.isEmpty && ephemeral.isEmpty }

    /// Lets a frame wait.
    mutating func add(_ frame: WireFrame, isEphemeral: Bool) -> Verdict {
        if isEphemeral {
            guard ephemeralBytes + frame.bytes.count <= limits.ephemeral else { return .dropped }
            ephemeralBytes += frame.bytes.count
            ephemeral.append(frame)
            return .waits
        }
        storedBytes += frame.bytes.count
        stored.append(frame)
        guard storedBytes <= limits.most else { return .tooMuch }
        guard storedBytes > limits.stored, !isCongested else { return .waits }
        isCongested = true
        return .congested
    }

    /// Writes as long as `write` takes; true if a client that was congested no longer is.
    ///
    /// The lanes take turns, so that neither waits for the other.
    mutating func drain(_ write: (WireFrame) -> Bool) -> Bool {
        while let frame = next, write(frame) { removeNext() }
        guard isEmpty, isCongested else { return false }
        isCongested = false
        return true
    }

    private var takesEphemeral: Bool { !ephemeral.isEmpty && (isEphemeralNext || stored.isEmpty) }

    private var next: WireFrame? { takesEphemeral ? ephemeral.first : stored.first }

    private mutating func removeNext() {
        if takesEphemeral {
            ephemeralBytes -= ephemeral.removeFirst().bytes.count
            isEphemeralNext = false
        } else {
            storedBytes -= stored.removeFirst().bytes.count
            isEphemeralNext = true
        }
    }
}
