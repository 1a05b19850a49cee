import Holdfast
import WebSocketRuntime

/// What a transport in memory and its link share: all of it may be used from any task.
final class MemoryPorts: Sendable {
    /// How a connection ended, and why if that was not in peace.
    typealias Ending = (record: CloseRecord, error: TransportError?)

    let role: Role
    let inbound: InboundQueue
    let outbound: OutboundQueue
    let ending = LinkOutcome<Ending>()
    let meter = TrafficMeter()

    init(_ role: Role, _ limits: WebSocketLimits, _ post: AsyncStream<MemoryLink.Input>.Continuation) {
        self.role = role
        inbound = InboundQueue(capacity: limits.receiveBuffer) { post.yield(.room(role)) }
        outbound = OutboundQueue(capacity: limits.sendBuffer) { post.yield(.work) }
    }
}
