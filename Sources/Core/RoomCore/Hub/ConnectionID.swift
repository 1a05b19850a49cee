/// A connection, as the hub's machine names it; never used twice.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (lhs: ConnectionID, rhs: ConnectionID) -> Bool { lhs.number < rhs.number }
}
