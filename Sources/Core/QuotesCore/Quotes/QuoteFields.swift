/// Some of the figures of a quote: the mask of a tick.
package struct QuoteFields: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let bid = QuoteFields(rawValue: 1)
    package static let ask = QuoteFields(rawValue: 2)
    package static let last = QuoteFields(rawValue: 4)
    package static let volume = QuoteFields(rawValue: 8)
    package static let time = QuoteFields(rawValue: 16)
    package static let all: QuoteFields = [.bid, .ask, .last, .volume, .time]
}
