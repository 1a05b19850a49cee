#if SwiftNIO
    /// What the two sides of one relayed connection may still carry together.
    final class RelayBudget {
        private let conditions: LinkConditions
        private var limit: LinkConditions.Limit?
        private var left = Int.max

        /// Whether the connection is to break, or breaks just now.
        var isSpent: Bool { left <= 0 }

        init(_ conditions: LinkConditions) { self.conditions = conditions }

        /// How many bytes may pass before the connection breaks, under the limit that holds now.
        func left(under limit: LinkConditions.Limit?) -> Int {
            if limit != self.limit {
                self.limit = limit
                left = limit.map(conditions.draw) ?? .max
            }
            return left
        }

        /// Says that bytes have passed.
        func spend(_ count: Int) {
            if limit != nil { left -= count }
        }
    }
#endif
