import CodecCore

/// A filter for past events; an event must meet all conditions.
///
/// Source: WAMP, "Event History".
struct MetaHistory {
    private var isReverse = false
    private var limit = MetaCall.listLimit
    private var topic: String?
    private var times: [(limit: Timestamp, holds: (Timestamp, Timestamp) -> Bool)] = []
    /// A publication, whether later or earlier events are wanted, and whether the publication itself is included.
    private var publications: [(id: WAMPID, follows: Bool, isIncluded: Bool)] = []

    init(_ call: MetaCall) throws(MetaRefusal) {
        if let value = call["reverse"] {
            guard let reverse = value.bool else { throw .argument("reverse must be true or false") }
            isReverse = reverse
        }
        if let value = call["limit"] {
            guard let count = value.int, count > 0 else { throw .argument("limit must be a number of at least 1") }
            limit = min(count, limit)
        }
        topic = try call.text("topic")
        try add(call, "from_time", >=)
        try add(call, "after_time", >)
        try add(call, "before_time", <)
        try add(call, "until_time", <=)
        try add(call, "from_publication", follows: true, isIncluded: true)
        try add(call, "after_publication", follows: true, isIncluded: false)
        try add(call, "before_publication", follows: false, isIncluded: false)
        try add(call, "until_publication", follows: false, isIncluded: true)
    }

    /// Returns the events that the filter selects, in the requested order.
    func pick(_ events: [HistoricEvent], time: (HistoricEvent) -> Timestamp) -> [HistoricEvent] {
        var range = events.indices
        for (id, follows, isIncluded) in publications {
            // A publication that is not in the history happened before all events in it, because it was kept once.
            let place = events.firstIndex { $0.publication == id } ?? -1
            let bound = isIncluded == follows ? place : place + 1
            range = range.clamped(to: follows ? max(bound, 0)..<max(events.endIndex, bound) : 0..<max(bound, 0))
        }
        let meant = events[range].filter { event in
            if let topic, event.topic != topic { return false }
            // The router reports times in milliseconds, and clients send them back in that form.
            let time = Self.milliseconds(time(event))
            return times.allSatisfy { $0.holds(time, $0.limit) }
        }
        return isReverse ? Array(meant.reversed().prefix(limit)) : Array(meant.prefix(limit))
    }

    /// Returns a time in the format of the specification, `yyyy-MM-ddThh:mm:ss.SSSZ`, so that texts sort like the times.
    static func text(_ time: Timestamp) -> String {
        let digits = String(time.nanoseconds / 1_000_000)
        return "\(Timestamp(seconds: time.seconds))".dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
    }

    private static func milliseconds(_ time: Timestamp) -> Timestamp {
        Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds / 1_000_000 * 1_000_000) ?? time
    }

    private mutating func add(_ call: MetaCall, _ name: String, _ holds: @escaping (Timestamp, Timestamp) -> Bool) throws(MetaRefusal) {
        guard let text = try call.text(name) else { return }
        guard let time = Timestamp(text) else { throw .argument("\(name) must be a time as in RFC 3339") }
        times.append((time, holds))
    }

    private mutating func add(_ call: MetaCall, _ name: String, follows: Bool, isIncluded: Bool) throws(MetaRefusal) {
        guard let value = call[name] else { return }
        guard let id = MetaCall.id(value) else { throw .argument("\(name) must be an id") }
        publications.append((id, follows, isIncluded))
    }
}
