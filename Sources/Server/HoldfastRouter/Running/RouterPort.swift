import CodecCore
import Holdfast
import HoldfastServer
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// The router's clients on one event loop.
typealias RouterPort = HostPort<RouterCore>

/// Data from the machine's event loop for a client's event loop.
enum RouterOutput: Sendable {
    case send(WAMPMessage, to: RouterConnection, from: RouterConnection?)
    case sendToAll(WAMPMessage, [RouterConnection], from: RouterConnection?)
    /// The machine knows that this message could not be sent.
    case gaveUp(WAMPMessage, of: RouterConnection)
    case close(RouterConnection, CloseFrame)
    case abort(RouterConnection)
}

/// The router's local data on one event loop, besides its clients.
///
/// Constants may be read on any thread.
final class RouterLocal {
    let limits: WAMPRouterConfiguration.Limits
    let bounds: Backlog.Bounds
    let codecLimits: CodecLimits
    /// The maximum length of a message.
    ///
    /// Joined clients are sent no messages longer than the router itself would accept.
    let messageLimit: Int
    let writesPlainBase64: Bool
    /// The number of event loops with clients.
    let portCount: Int
    let tally: LockedValue<RouterStatus>
    private let slots: LockedValue<AddressQuota>
    /// The number of bytes that wait for clients, by address.
    private let queues: LockedValue<AddressQuota>
    /// The counts since the last report.
    var news = RouterStatus()

    init(
        _ configuration: WAMPRouterConfiguration, portCount: Int, tally: LockedValue<RouterStatus>, slots: LockedValue<AddressQuota>,
        queues: LockedValue<AddressQuota>
    ) {
        (limits, self.portCount, self.tally, self.slots, self.queues) = (configuration.limits, portCount, tally, slots, queues)
        bounds = Backlog.Bounds(waiting: limits.waiting, slowest: limits.slowest)
        messageLimit = configuration.server.limits.message
        writesPlainBase64 = configuration.policy.quirks.writesPlainBase64
        codecLimits = CodecLimits(maximumDepth: 64, maximumBytes: messageLimit)
    }

    /// Reserves a place for a client of an address; returns false if the limit is reached.
    func takeSlot(_ address: String?) -> Bool { slots.withLockedValue { $0.take(address) } }
    /// Releases the place.
    func releaseSlot(_ address: String?) { slots.withLockedValue { $0.leave(address) } }

    /// Reserves queue space for clients of an address.
    ///
    /// - Returns: The remaining space; nil if there is not enough for these bytes.
    func takeQueue(_ bytes: Int, of address: String?) -> Int? {
        queues.withLockedValue { $0.take(address, bytes) ? $0.left(for: address) : nil }
    }
    /// Releases queue space.
    func leaveQueue(_ bytes: Int, of address: String?) { queues.withLockedValue { $0.leave(address, bytes) } }

    func carried(_ message: WrittenMessage) {
        news.messagesOut += 1
        news.bytesOut += message.byteCount
    }

    func notifyTally() {
        tally.withLockedValue { $0.add(news) }
        news = RouterStatus()
    }

    /// Decodes a message; on any thread.
    func read(_ kind: MessageKind, _ bytes: RawSpan, as serialization: WAMPSerialization) -> Result<WAMPMessage, WAMPFormatError> {
        do throws(WAMPFormatError) {
            return .success(try WAMPMessage(decoding: bytes, of: kind, as: serialization, limits: codecLimits))
        } catch {
            return .failure(error)
        }
    }
}

extension RouterConnection: HostedID {}

extension RouterCore {
    /// Delivers the outputs of the machine's event loop.
    static func deliver(_ outputs: [RouterOutput], sentAt _: NIODeadline, at port: RouterPort) {
        for output in outputs {
            switch output {
            case .send(let message, let id, let cause):
                guard let link = port[id] else { continue }
                if case .event(_, _, _, let arguments) = message, link.leavesOut(arguments, from: cause) {
                    port.local.news.refusedMessages += 1
                    continue
                }
                if port.local.writesPlainBase64, link.serialization == .json {
                    port.notify(message.withPlainBase64, link, id, cause)
                } else {
                    port.notify(message, link, id, cause)
                }
            case .sendToAll(let message, let members, let cause):
                let inJSON = port.local.writesPlainBase64 ? message.withPlainBase64 : nil
                var many = MessageForMany(message, inJSON: inJSON, for: members.count / port.local.portCount)
                for id in members where id.port == port.number { port[id].map { port.notify(&many, $0, id, cause) } }
            case .gaveUp(let message, let id): port[id]?.lost.goOn(message)
            case .close(let id, let frame): port[id]?.close(frame)
            case .abort(let id): port[id]?.abort()
            }
        }
        port.local.notifyTally()
    }
}

extension RouterPort {
    func notify(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?) {
        guard link.lost.isEmpty || !link.lost.concerns(message) else { return skip(message, link, id) }
        do throws(CodecError) {
            notify(try WrittenMessage(message, as: link.serialization), of: message, link, id, cause)
        } catch {
            cannotSay(message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    func notify(_ many: inout MessageForMany, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?) {
        do throws(CodecError) {
            notify(try many.written(as: link.serialization), of: many.message, link, id, cause)
        } catch {
            cannotSay(many.message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    private func notify(
        _ written: WrittenMessage, of message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?
    ) {
        // A message that was short enough when received may be longer in another serialization, or with longer ids.
        guard written.byteCount <= local.messageLimit || message.isOfJoining else {
            return cannotSay(message, WAMPURI.Error.payloadSizeExceeded, link, id)
        }
        if !link.notify(written, of: message, from: cause) { hasNoRoom(message, link, id) }
    }

    /// Handles a message that is too long, or not representable in the client's serialization.
    ///
    /// Every request still ends: a result becomes an error, and a call fails as if its callee had refused it. A partial result or an event
    /// is dropped.
    private func cannotSay(_ message: WAMPMessage, _ reason: String, _ link: RouterLink, _ id: RouterConnection) {
        local.news.unsayable += 1
        switch message {
        // The call continues.
        case .result where message.isPart: break
        case .result(let request, _, _): notify(.failed(request, reason), link, id, id)
        case .error(let kind, let request, let details, let uri, let arguments) where !arguments.isEmpty:
            notify(.error(kind, request: request, details: details, uri: uri, .none), link, id, id)
        case .invocation: lose(message, reason, link, id)
        default: break
        }
    }

    /// Handles a full queue that others have filled: their messages fail, but the client stays connected.
    private func hasNoRoom(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        local.news.refusedMessages += 1
        switch message {
        case .result where message.isPart: lose(message, WAMPURI.Error.unavailable, link, id)
        case .result(let request, _, _): notify(.failed(request, WAMPURI.Error.unavailable), link, id, id)
        // Sent as the router's own message, without content from others.
        case .error(let kind, let request, let details, let uri, _):
            notify(.error(kind, request: request, details: details, uri: uri, .none), link, id, id)
        case .invocation: lose(message, WAMPURI.Error.unavailable, link, id)
        default: break
        }
    }

    /// Asks the machine to end the call.
    ///
    /// Until then, nothing more of it is sent, so that no part is missing unnoticed.
    private func lose(_ message: WAMPMessage, _ reason: String, _ link: RouterLink, _ id: RouterConnection) {
        link.lost.note(message)
        handle(.undelivered(id, message, reason: reason), of: id)
    }

    /// Handles a later message of a call with a part that could not be sent.
    private func skip(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        // The last result arrived before the machine knew that a part was lost.
        if case .result(let request, _, _) = message, !message.isPart {
            link.lost.goOn(message)
            notify(.failed(request, WAMPURI.Error.unavailable), link, id, id)
        }
    }

    /// Makes other clients wait for one of this loop, or lets them continue.
    func notify(_ effects: [Backlog.Effect]) {
        for effect in effects {
            switch effect {
            case .hold(let other): hold(other, true)
            case .release(let other): hold(other, false)
            }
        }
    }

    /// Stops reading from a client of any loop, or continues.
    private func hold(_ id: RouterConnection, _ isHeld: Bool) {
        guard let port = host.port(number: id.port) else { return }
        port.loop.execute { port[id]?.hold(isHeld) }
    }
}
