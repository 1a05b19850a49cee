/// A room's logs, one for each epoch, as the hub recorded them and as clients saw them.
struct RoomLogs: Sendable {
    private let room: String
    /// The hub recorded that it lost a log or restored an older one.
    var wasRewound = false
    /// The epoch of the last dump.
    private(set) var epoch: String?
    private var dumps: [String: Dump] = [:]
    /// The contents of logs before they went back within their epoch, by epoch.
    private var older: [String: [Dump]] = [:]
    private var observations: [String: [Int64: [Observation]]] = [:]
    private var acks: [Ack] = []
    private var names: Set<String> = []
    private var contradictions: [String] = []

    private struct Dump: Sendable {
        var base: Int64
        var head: Int64
        var items: [Int64: HistoryItem] = [:]
    }
    private struct Observation: Sendable {
        var item: HistoryItem
        var who: String
    }
    private struct Ack: Sendable {
        var id: String
        var epoch: String
        var seq: Int64
        var who: String
    }

    init(room: String) { self.room = room }

    /// The last number of the last log.
    var head: Int64? { epoch.flatMap { dumps[$0]?.head } }

    /// Whether retention has removed entries from any of the logs.
    var wasTrimmed: Bool { lines.contains { $0.base > 1 } }

    private var lines: [Dump] { dumps.sorted { $0.key < $1.key }.map(\.value) + older.sorted { $0.key < $1.key }.flatMap(\.value) }

    /// All logs that an epoch may have had, the last one first.
    ///
    /// A log that went back unnoticed within its epoch gets a new epoch when that is noticed. It may then be recorded under the new epoch.
    private func logs(of epoch: String) -> [Dump] {
        if older[epoch] == nil { return [dumps[epoch]].compactMap { $0 } }
        return [dumps[epoch]].compactMap { $0 } + lines
    }

    /// Whether a message is in any of the logs.
    func holds(_ id: String) -> Bool { names.contains(id) }

    /// Whether the hub still has a message in the last log.
    func retains(_ id: String) -> Bool {
        guard let epoch, let dump = dumps[epoch] else { return false }
        return dump.items.values.contains { $0.id == id && $0.seq >= dump.base }
    }

    /// An entry of the last log that differs from the given one at the same position.
    func other(than items: [HistoryItem]) -> HistoryItem? {
        guard let epoch, let dump = dumps[epoch] else { return nil }
        return items.lazy.compactMap { item in dump.items[item.seq].flatMap { $0 == item ? nil : $0 } }.first
    }

    /// An older log was restored unnoticed, so numbers of its epoch are used again.
    mutating func goBack(to epoch: String) {
        older[epoch, default: []] += [dumps.removeValue(forKey: epoch)].compactMap { $0 }
    }

    /// A log that the hub recorded.
    mutating func dump(_ event: HistoryEvent) {
        let (name, items) = (event.epoch ?? "", event.items ?? [])
        let base = event.seq ?? 1
        epoch = name
        var dump = dumps[name] ?? Dump(base: base, head: base - 1)
        if let first = items.first, first.seq > base {
            contradictions.append("the log of \(room) begins at \(first.seq), though it retains what is from \(base) on")
        }
        if let last = items.last, last.seq < dump.head {
            contradictions.append("the log of \(room) went back from \(dump.head) to \(last.seq)")
        }
        dump.base = max(dump.base, base)
        dump.head = max(dump.head, items.last?.seq ?? 0)
        for (one, next) in zip(items, items.dropFirst()) where next.seq != one.seq + 1 {
            contradictions.append("the log of \(room) goes from \(one.seq) to \(next.seq)")
        }
        for item in items {
            if let old = dump.items.updateValue(item, forKey: item.seq), old != item {
                contradictions.append("the log of \(room) had \(old.id) at \(item.seq), and later \(item.id)")
            }
            names.insert(item.id)
        }
        dumps[name] = dump
    }

    /// Entries that a client saw.
    mutating func see(_ items: [HistoryItem], epoch: String, by who: String) {
        for item in items where observations[epoch]?[item.seq]?.contains(where: { $0.item == item }) != true {
            observations[epoch, default: [:]][item.seq, default: []].append(Observation(item: item, who: who))
        }
    }

    /// An ack that an app was told of.
    mutating func acked(_ id: String, epoch: String, seq: Int64, by who: String) {
        acks.append(Ack(id: id, epoch: epoch, seq: seq, who: who))
    }

    func violations(submitted: [String: String]) -> [String] {
        var result = contradictions
        for dump in lines { result += order(of: dump.items.values.sorted { $0.seq < $1.seq }, submitted: submitted) }
        for (name, seen) in observations.sorted(by: { $0.key < $1.key }) {
            let seen = seen.sorted { $0.key < $1.key }
            // A client that saw another entry than others at a position saw another log.
            for (_, several) in seen where older[name] == nil {
                for (one, next) in zip(several, several.dropFirst()) {
                    result.append("in \(room) \(one.who) saw \(one.item) and \(next.who) saw \(next.item)")
                }
            }
            for (seq, several) in seen { result += several.compactMap { violation(of: $0, at: seq, logs(of: name)) } }
        }
        if !wasRewound {
            for name in Set(observations.keys).union(acks.lazy.map(\.epoch)).subtracting(dumps.keys).subtracting(older.keys).sorted() {
                result.append("\(room) has an epoch \(name) that no log had")
            }
        }
        for epoch in observations.values {
            for observation in epoch.values.joined().sorted(by: { $0.item.seq < $1.item.seq }) where submitted[observation.item.id] == nil {
                result.append("\(observation.who) saw \(observation.item.id) in \(room), which nobody submitted")
            }
        }
        return result + acks.compactMap(violation)
    }

    /// A violation if a seen entry is in no log of its epoch.
    private func violation(of observation: Observation, at seq: Int64, _ logs: [Dump]) -> String? {
        guard let last = logs.first, !logs.contains(where: { $0.items[seq].map { $0 == observation.item } ?? (seq < $0.base) }) else {
            return nil
        }
        guard let item = last.items[seq] else {
            return "\(observation.who) saw \(observation.item.id) at \(seq) in \(room), the log has nothing there"
        }
        return "\(observation.who) saw \(observation.item) in \(room), the log has \(item)"
    }

    /// Checks that each message is there once, in its device's order, and was submitted.
    private func order(of items: [HistoryItem], submitted: [String: String]) -> [String] {
        var result: [String] = []
        var last: [String: Int64] = [:]
        var seen: Set<String> = []
        for item in items {
            if !seen.insert(item.id).inserted { result.append("the log of \(room) has \(item.id) twice, again at \(item.seq)") }
            if let before = last[item.device], before >= item.cseq {
                let fault = before == item.cseq ? "twice" : "after \(before)"
                result.append("the log of \(room) has number \(item.cseq) of device \(item.device) \(fault), at \(item.seq)")
            }
            last[item.device] = item.cseq
            guard let digest = submitted[item.id] else {
                result.append("the log of \(room) has \(item.id) at \(item.seq), which nobody submitted")
                continue
            }
            if digest != item.digest { result.append("\(item.id) in the log of \(room) is not what was submitted") }
        }
        return result
    }

    /// A violation if the log does not have an acked message.
    private func violation(of ack: Ack) -> String? {
        if ack.seq == 0 {
            // Retention has removed it, so some log must have had retention.
            // A log that is known from its first entry on has no unknown entries.
            let mayBeUnseen = lines.contains { $0.base > 1 && $0.items[1] == nil }
            return mayBeUnseen || wasRewound || holds(ack.id) ? nil : "\(ack.id) was acked to \(ack.who), and \(room) never had it"
        }
        let logs = logs(of: ack.epoch)
        guard let dump = logs.first, !logs.contains(where: { $0.items[ack.seq].map { $0.id == ack.id } ?? (ack.seq < $0.base) }) else {
            return nil
        }
        if let item = dump.items[ack.seq] {
            return "\(ack.id) was acked to \(ack.who) at \(ack.seq) of \(room), where the log has \(item.id)"
        }
        return "\(ack.id) was acked to \(ack.who) at \(ack.seq) of \(room), and the log has nothing there"
    }
}
