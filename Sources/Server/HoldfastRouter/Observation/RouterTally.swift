import WebSocketRuntime

/// What a router counts, on all event loops.
final class RouterTally: Sendable {
    /// What one event loop has handed to its clients.
    struct News {
        var messagesOut = 0
        var bytesOut = 0
        var unsayable = 0
        var refused = 0
    }
    private let status = LockedValue(RouterStatus())

    var now: RouterStatus { status.withLockedValue(\.self) }

    func add(_ change: (inout RouterStatus) -> Void) { status.withLockedValue { change(&$0) } }

    func add(_ news: News) {
        status.withLockedValue { status in
            status.messagesOut += news.messagesOut
            status.bytesOut += news.bytesOut
            status.unsayable += news.unsayable
            status.refusedMessages += news.refused
        }
    }
}
