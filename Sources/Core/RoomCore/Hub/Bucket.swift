package import MachineCore

extension HubMachine {
    /// A token bucket: what was taken is refilled over time.
    struct Bucket: Hashable, Sendable {
        /// When the bucket is full again, in nanoseconds.
        private(set) var full: Int64 = 0

        /// Returns the milliseconds to wait before this amount may be taken; 0: now.
        ///
        /// A full bucket also allows an amount above its burst.
        func wait(for cost: Int64, _ rate: HubPolicy.Rate, at now: Int64) -> Int64 {
            let debt = full - now
            guard debt > 0 else { return 0 }
            let excess = debt + rate.time(for: cost) - rate.time(for: rate.burst)
            return excess > 0 ? excess / 1_000_000 + 1 : 0
        }

        /// The same for a daily quota in bytes: this amount at once, and again over the course of a day.
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

        /// Returns an amount that was taken but not used.
        mutating func giveBack(_ bytes: Int64, ofDay quota: Int64) {
            guard quota < .max else { return }
            full = max(full - Self.time(for: bytes, ofDay: quota), 0)
        }

        /// In nanoseconds.
        private static let day: Int64 = 86_400_000_000_000

        /// Returns how long the refill of this many bytes takes.
        private static func time(for bytes: Int64, ofDay quota: Int64) -> Int64 {
            let quota = max(quota, 1)
            return quota.dividingFullWidth(min(max(bytes, 0), quota).multipliedFullWidth(by: day)).quotient
        }

        mutating func take(_ cost: Int64, _ rate: HubPolicy.Rate, at now: Int64) {
            full = max(full, now) &+ rate.time(for: cost)
        }

        /// Takes an amount without asking, but limits the deficit to a number of bursts, because others share the bucket.
        mutating func take(_ cost: Int64, _ rate: HubPolicy.Rate, atMost bursts: Int64, at now: Int64) {
            let most = bursts * rate.time(for: min(rate.burst, (1 << 32) / bursts))
            full = max(full, min(max(full, now) &+ rate.time(for: cost), now &+ most))
        }
    }

    /// The buckets for an ``HubPolicy/Allowance``.
    struct Meter: Hashable, Sendable {
        var messages = Bucket()
        var bytes = Bucket()
        var joins = Bucket()
        /// The bytes of ephemeral frames: the received ones, and the sent ones that they caused.
        var ephemeral = Bucket()
        var deliveries = Bucket()
        /// The bytes stored.
        var disk = Bucket()
        /// The bytes of entries sent on request.
        var pages = Bucket()

        func wait(forMessageOf size: Int64, _ allowance: HubPolicy.Allowance, at now: Int64) -> Int64 {
            max(messages.wait(for: 1, allowance.messages, at: now), bytes.wait(for: size, allowance.bytes, at: now))
        }

        mutating func take(messageOf size: Int64, _ allowance: HubPolicy.Allowance, at now: Int64) {
            messages.take(1, allowance.messages, at: now)
            bytes.take(size, allowance.bytes, at: now)
        }

        /// When all buckets are full again, in nanoseconds.
        var full: Int64 { max(messages.full, bytes.full, joins.full, ephemeral.full, max(deliveries.full, disk.full, pages.full)) }
    }

    /// The usage of one user or one address.
    struct Party: Hashable, Sendable {
        var connections = 0
        /// The pending log requests, without those for joins.
        var questions = 0
        var meter = Meter()
    }

    /// The recent number of entries per second in a room.
    struct Pace: Sendable {
        /// The length of a span in nanoseconds.
        private static let span: Int64 = 10_000_000_000
        /// The number of the current span.
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

        /// Returns the rate from the count of the current span and a share of the previous one.
        func perSecond(at now: Moment) -> Double {
            var pace = self
            pace.add(0, at: now)
            let part = Double(now.offset.wholeNanoseconds % Self.span) / Double(Self.span)
            return (Double(pace.count) + Double(pace.countBefore) * (1 - part)) * 1e9 / Double(Self.span)
        }
    }

    /// Returns the rooms with the most members and those with the most entries per second, each sorted and up to a maximum number.
    ///
    /// It visits all rooms.
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
    /// Returns the time that this amount takes, in nanoseconds.
    func time(for count: Int64) -> Int64 { min(max(count, 0), 1 << 32) * 1_000_000_000 / max(perSecond, 1) }
}

extension [RoomFigures] {
    /// Inserts in order and keeps at most this number.
    fileprivate mutating func insert(_ new: RoomFigures, upTo most: Int, _ isBefore: (RoomFigures, RoomFigures) -> Bool) {
        if count >= most, let last, !isBefore(new, last) { return }
        insert(new, at: firstIndex { isBefore(new, $0) } ?? count)
        if count > most { removeLast() }
    }
}
