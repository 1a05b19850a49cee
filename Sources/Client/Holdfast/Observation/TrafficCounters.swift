package import Metrics
package import WebSocketRuntime

/// The metrics of what is carried, of clients and of servers.
package struct TrafficCounters: Sendable {
    private let bytesIn, bytesOut, messagesIn, messagesOut, payloadIn, payloadOut: Counter

    /// - Parameter prefix: What the names begin with.
    package init(prefix: String, _ factory: any MetricsFactory) {
        func counter(_ name: String) -> Counter { Counter(label: prefix + name, factory: factory) }
        (bytesIn, bytesOut) = (counter("bytes_in"), counter("bytes_out"))
        (messagesIn, messagesOut) = (counter("messages_in"), counter("messages_out"))
        (payloadIn, payloadOut) = (counter("payload_bytes_in"), counter("payload_bytes_out"))
    }

    /// Adds what was carried since the last time.
    package func add(_ news: LinkTraffic) {
        for (counter, count) in [
            (bytesIn, news.bytesIn), (bytesOut, news.bytesOut), (messagesIn, news.messagesIn), (messagesOut, news.messagesOut),
            (payloadIn, news.payloadIn), (payloadOut, news.payloadOut),
        ] where count > 0 { counter.increment(by: count) }
    }
}
