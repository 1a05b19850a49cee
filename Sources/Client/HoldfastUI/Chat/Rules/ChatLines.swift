#if Rooms
    import HoldfastRooms

    /// What a transcript shows, one below the other.
    enum ChatLine: Identifiable, Hashable {
        /// What tells a line from all others.
        enum ID: Hashable {
            case day(before: ChatMessageID)
            case message(ChatMessageID)
        }

        /// From here on the messages are of another day: that of this time, in milliseconds since 1970 UTC.
        case day(Int64, before: ChatMessageID)
        /// A message, and where in a group it stands.
        case message(ChatMessage, isFirst: Bool, isLast: Bool)

        var id: ID {
            switch self {
            case .day(_, let message): .day(before: message)
            case .message(let message, _, _): .message(message.id)
            }
        }

        /// Messages of one user that are no further apart than this belong together: the name stands above the first, the time below the last.
        static let gap: Int64 = 5 * 60 * 1000

        /// The lines for messages, in their order.
        ///
        /// Times are those of the authors' clocks, so they may go back, and so may the days.
        static func lines(for messages: [ChatMessage], _ calendar: ChatCalendar) -> [ChatLine] {
            var lines: [ChatLine] = []
            lines.reserveCapacity(messages.count + messages.count / 4)
            var before: (message: ChatMessage, day: Int64)?
            for (place, message) in messages.enumerated() {
                let day = calendar.day(of: message.at)
                if day != before?.day { lines.append(.day(message.at, before: message.id)) }
                let isFirst = before.map { $0.day != day || !belongTogether($0.message, message) } ?? true
                let next = place + 1 < messages.count ? messages[place + 1] : nil
                let isLast = next.map { calendar.day(of: $0.at) != day || !belongTogether(message, $0) } ?? true
                lines.append(.message(message, isFirst: isFirst, isLast: isLast))
                before = (message, day)
            }
            return lines
        }

        private static func belongTogether(_ one: ChatMessage, _ next: ChatMessage) -> Bool {
            guard one.isOwn == next.isOwn, one.isOwn || one.user == next.user else { return false }
            let (apart, isTooFar) = next.at.subtractingReportingOverflow(one.at)
            return !isTooFar && apart.magnitude <= gap.magnitude
        }
    }
#endif
