package import MachineCore

extension HubMachine {
    /// A token bucket: what was taken flows back with time.
    struct Bucket: Hashable, Sendable {
        /// When all that was taken will have flown back, in nanoseconds.
        private(set) var full: Int64 = 0

        /// How many milliseconds to wait before so much may be taken; 0: now.
        ///
        /// A full bucket gives even what is more than its burst.
        func wait(for cost: Int64, _ rate: HubPolicy.Rate, at now: Int64) -> Int64 {
            let debt = full - now
            guard debt > 0 else { return 0 }
            let excess = debt + rate.time(for: cost) - rate.time(for: rate.burst)
            return excess > 0 ? excess / 1_000_000 + 1 : 0
        }

        /// The same of a quota for a day, in bytes: so much at once, and so much again in the course of a day.
        func wait(for bytes: Int64, ofDay quota: Int64, at now: Int64) -> Int64 {
            let debt = full - now
            guard debt > 0, quota < .max else { return 0 }
            let excess = debt + Self.time(for: bytes, ofDay: quota) - Self.day
            return excess > 0 ? excess / 1_000_000 + 1 : 0
        }

        mutating func take(_ bytes: Int64, ofDay quota: Int64, at now: Int64) {
            guard quota < .max else { return }
            full = max(full, now) + Self.time(for: bytes, ofDay: quota)
        }

        /// What was taken and not used after all.
        mutating func giveBack(_ bytes: Int64, ofDay quota: Int64) {
            guard quota < .max else { return }
            full = max(full - Self.time(for: bytes, ofDay: quota), 0)
        }

        /// In nanoseconds.
        private static let day: Int64 = 86_400_000_000_000

        /// How long so many bytes take to flow back.
        private static func time(for bytes: Int64, ofDay quota: Int64) -> Int64 {
            let quota = max(quota, 1)
            return quota.dividingFullWidth(min(max(bytes, 0), quota).multipliedFullWidth(by: day)).quotient
        }

        mutating func take(_ cost: Int64, _ rate: HubPolicy.Rate, at now: Int64) {
            full = max(full, now) &+ rate.time(for: cost)
        }

        /// Takes what nobody was asked for, though not so much that more than so many bursts are missing: others share the bucket.
        mutating func take(_ cost: Int64, _ rate: HubPolicy.Rate, atMost bursts: Int64, at now: Int64) {
            let most = bursts * rate.time(for: min(rate.burst, (1 << 32) / bursts))
            full = max(full, min(max(full, now) &+ rate.time(for: cost), now &+ most))
        }
    }

    /// The buckets of an ``HubPolicy/Allowance``.
    struct Meter: Hashable, Sendable {
        var messages = Bucket()
        var bytes = Bucket()
        var joins = Bucket()
        /// Bytes of what nobody stores: those that were said, and those that were told because of them.
        var ephemeral = Bucket()
        var deliveries = Bucket()
        /// Bytes that were stored.
        var disk = Bucket()
        /// Bytes of entries that were told because they were asked for.
        var pages = Bucket()

        func wait(forMessageOf size: Int64, _ allowance: HubPolicy.Allowance, at now: Int64) -> Int64 {
            max(messages.wait(for: 1, allowance.messages, at: now), bytes.wait(for: size, allowance.bytes, at: now))
        }

        mutating func take(messageOf size: Int64, _ allowance: HubPolicy.Allowance, at now: Int64) {
            messages.take(1, allowance.messages, at: now)
            bytes.take(size, allowance.bytes, at: now)
        }

        /// When nothing of what was taken is missing any more, in nanoseconds.
        var full: Int64 { max(messages.full, bytes.full, joins.full, ephemeral.full, max(deliveries.full, disk.full, pages.full)) }
    }

    /// What one user or one address does.
    struct Party: Hashable, Sendable {
        var connections = 0
        /// Questions to the log that are open, but for those of joins.
        var questions = 0
        var meter = Meter()
    }

    /// How many entries a second a room has had of late.
    struct Pace: Sendable {
        /// Over so long, in nanoseconds.
        private static let span: Int64 = 10_000_000_000
        /// The span of time that is being counted, by its number.
        private var present: Int64 = 0
        private var count = 0
        private var countBefore = 0

        mutating func add(_ count: Int, at now: Moment) {
            let span = now.offset.wholeNanoseconds / Self.span
            if span != present {
                (countBefore, self.count) = (span == present + 1 ? self.count : 0, 0)
                present = span
            }
            self.count += count
        }

        /// What was counted in the present span, and of the one before the part that is no longer ago than a span.
        func perSecond(at now: Moment) -> Double {
            var pace = self
            pace.add(0, at: now)
            let part = Double(now.offset.wholeNanoseconds % Self.span) / Double(Self.span)
            return (Double(pace.count) + Double(pace.countBefore) * (1 - part)) * 1e9 / Double(Self.span)
        }
    }

    /// The rooms with the most members, and those with the most entries a second; so many of each at most, the first ones first.
    ///
    /// It looks at all rooms.
    package func busiest(_ count: Int, at now: Moment) -> (byMembers: [RoomFigures], byPace: [RoomFigures]) {
        var (byMembers, byPace): ([RoomFigures], [RoomFigures]) = ([], [])
        rooms.forEach { name, room in
            let figures = RoomFigures(room: name, members: room.members.count, pace: room.pace.perSecond(at: now))
            if figures.members > 0 { byMembers.insert(figures, upTo: count) { ($1.members, $0.room) < ($0.members, $1.room) } }
            if figures.pace > 0 { byPace.insert(figures, upTo: count) { ($1.pace, $0.room) < ($0.pace, $1.room) } }
        }
        return (byMembers, byPace)
    }
}

extension HubPolicy.Rate {
    /// How long so many take, in nanoseconds.
    func time(for count: Int64) -> Int64 { min(max(count, 0), 1 << 32) * 1_000_000_000 / max(perSecond, 1) }
}

extension [RoomFigures] {
    /// Keeps the first ones, in order.
    fileprivate mutating func insert(_ new: RoomFigures, upTo most: Int, _ isBefore: (RoomFigures, RoomFigures) -> Bool) {
        if count >= most, let last, !isBefore(new, last) { return }
        insert(new, at: firstIndex { isBefore(new, $0) } ?? count)
        if count > most { removeLast() }
    }
}
