package import CodecCore

/// An event that the router publishes when the session ends.
///
/// A testament belongs to one session, so a client sets its testaments again each time it joins.
///
/// Source: WAMP, "Session Testament".
///
/// It is a class, so that it takes little space in the options of each call.
package final class Testament: Hashable, Sendable {
    package static let procedure = "wamp.session.add_testament"
    package static let flush = "wamp.session.flush_testaments"

    package let scope: TestamentScope
    /// The arguments of the call that sets the testament.
    package let call: WAMPArguments

    package init(topic: String, arguments: WAMPArguments, options: PublishOptions, scope: TestamentScope) throws(CodecError) {
        self.scope = scope
        call = WAMPArguments(
            [.text(topic), .array(try arguments.list), .map(try arguments.keywords)],
            keywords: ["publish_options": .map(Self.map(options)), "scope": .text(scope.rawValue)])
    }

    package static func == (lhs: Testament, rhs: Testament) -> Bool { (lhs.scope, lhs.call) == (rhs.scope, rhs.call) }
    package func hash(into hasher: inout Hasher) { hasher.combine(call) }

    private static func map(_ options: PublishOptions) -> ValueMap {
        var map = options.other
        if options.isRetained { map["retain"] = true }
        if let discloseMe = options.discloseMe { map["disclose_me"] = .bool(discloseMe) }
        options.excluded.write(into: &map, as: "exclude")
        options.eligible.write(into: &map, as: "eligible")
        return map
    }
}

/// When a testament is published.
///
/// Source: WAMP, "Session Testament".
public enum TestamentScope: String, Hashable, Sendable, CaseIterable {
    /// When the session has ended for good.
    case destroyed
    /// When the connection is lost, even if the router keeps the session.
    case detached
}
