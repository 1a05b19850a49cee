package import CodecCore

extension TopicKey {
    /// The topic that an event was published to; only under a pattern its details say it.
    package func topic(of details: ValueMap) -> String { match == .exact ? uri : details["topic"]?.string ?? uri }

    /// Whether an event of a topic is for who listens to this.
    ///
    /// Source: WAMP, "Pattern-based Subscriptions".
    func matches(_ topic: String) -> Bool {
        switch match {
        case .exact: return uri == topic
        case .prefix: return topic.utf8.starts(with: uri.utf8)
        case .wildcard:
            let parts = uri.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let others = topic.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            return parts.count == others.count && zip(parts, others).allSatisfy { $0.isEmpty || $0.elementsEqual($1) }
        }
    }
}
