package import MachineCore

extension HubMachine {
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

extension [RoomFigures] {
    /// Keeps the first ones, in order.
    fileprivate mutating func insert(_ new: RoomFigures, upTo most: Int, _ isBefore: (RoomFigures, RoomFigures) -> Bool) {
        if count >= most, let last, !isBefore(new, last) { return }
        insert(new, at: firstIndex { isBefore(new, $0) } ?? count)
        if count > most { removeLast() }
    }
}
