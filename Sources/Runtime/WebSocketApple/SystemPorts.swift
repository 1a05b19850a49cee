import WebSocketCore
import WebSocketRuntime

/// What a transport and its link share: all of it may be used from any task.
final class SystemPorts: Sendable {
    /// How a connection ended, and why if that was not in peace.
    typealias Ending = (record: CloseRecord, error: TransportError?)

    let inbound: InboundQueue
    let outbound: OutboundQueue
    let ending = LinkOutcome<Ending>()
    let meter = TrafficMeter()

    init(_ settings: SystemSettings, _ post: AsyncStream<SystemLink.Input>.Continuation) {
        inbound = InboundQueue(capacity: settings.receiveBuffer) { post.yield(.room) }
        outbound = OutboundQueue(capacity: settings.sendBuffer) { post.yield(.work) }
    }
}
