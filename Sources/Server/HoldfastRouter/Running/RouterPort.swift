import CodecCore
import Holdfast
import HoldfastServer
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// The router's clients on one event loop.
typealias RouterPort = HostPort<RouterCore>

/// What the machine's event loop has for that of a client.
enum RouterParcel: Sendable {
    case send(WAMPMessage, to: RouterConnection, from: RouterConnection?)
    case sendToAll(WAMPMessage, [RouterConnection], from: RouterConnection?)
    /// The machine knows that this could not be sent.
    case gaveUp(WAMPMessage, of: RouterConnection)
    case close(RouterConnection, CloseFrame)
    case abort(RouterConnection)
}

/// What the router has on one event loop, beside its clients; what is constant may be read on any thread.
final class RouterLocal {
    let limits: WAMPRouterConfiguration.Limits
    let bounds: Backlog.Bounds
    let codecLimits: CodecLimits
    /// How long a message may be; once they have joined, clients are sent none that the router would not take itself.
    let messageLimit: Int
    let writesPlainBase64: Bool
    /// On how many event loops there are clients.
    let portCount: Int
    let tally: LockedValue<RouterStatus>
    private let seats: LockedValue<AddressQuota>
    /// Bytes that wait for clients, by address.
    private let queues: LockedValue<AddressQuota>
    /// Since the tally was told.
    var news = RouterStatus()

    init(
        _ configuration: WAMPRouterConfiguration, portCount: Int, tally: LockedValue<RouterStatus>, seats: LockedValue<AddressQuota>,
        queues: LockedValue<AddressQuota>
    ) {
        (limits, self.portCount, self.tally, self.seats, self.queues) = (configuration.limits, portCount, tally, seats, queues)
        bounds = Backlog.Bounds(waiting: limits.waiting, slowest: limits.slowest)
        messageLimit = configuration.server.limits.message
        writesPlainBase64 = configuration.policy.quirks.writesPlainBase64
        codecLimits = CodecLimits(maximumDepth: 64, maximumBytes: messageLimit)
    }

    /// A client of an address comes; false if there are as many as may be.
    func takeSeat(_ address: String?) -> Bool { seats.withLockedValue { $0.take(address) } }
    /// It has gone.
    func leaveSeat(_ address: String?) { seats.withLockedValue { $0.leave(address) } }

    /// So many more bytes are to wait for clients of an address.
    ///
    /// - Returns: How many more may then; nil: not even these.
    func takeQueue(_ bytes: Int, of address: String?) -> Int? {
        queues.withLockedValue { $0.take(address, bytes) ? $0.left(for: address) : nil }
    }
    /// They wait no longer.
    func leaveQueue(_ bytes: Int, of address: String?) { queues.withLockedValue { $0.leave(address, bytes) } }

    func carried(_ message: WrittenMessage) {
        news.messagesOut += 1
        news.bytesOut += message.byteCount
    }

    func tellTally() {
        tally.withLockedValue { $0.add(news) }
        news = RouterStatus()
    }

    /// Reads a message; on any thread.
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
    /// Delivers what the machine's loop has sent.
    static func deliver(_ parcels: [RouterParcel], sentAt _: NIODeadline, at port: RouterPort) {
        for parcel in parcels {
            switch parcel {
            case .send(let message, let id, let cause):
                guard let link = port[id] else { continue }
                if case .event(_, _, _, let arguments) = message, link.leavesOut(arguments, from: cause) {
                    port.local.news.refusedMessages += 1
                    continue
                }
                if port.local.writesPlainBase64, link.serialization == .json {
                    port.tell(message.withPlainBase64, link, id, cause)
                } else {
                    port.tell(message, link, id, cause)
                }
            case .sendToAll(let message, let members, let cause):
                let inJSON = port.local.writesPlainBase64 ? message.withPlainBase64 : nil
                var many = MessageForMany(message, inJSON: inJSON, for: members.count / port.local.portCount)
                for id in members where id.port == port.number { port[id].map { port.tell(&many, $0, id, cause) } }
            case .gaveUp(let message, let id): port[id]?.lost.goOn(message)
            case .close(let id, let frame): port[id]?.close(frame)
            case .abort(let id): port[id]?.abort()
            }
        }
        port.local.tellTally()
    }
}

extension RouterPort {
    func tell(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?) {
        guard link.lost.isEmpty || !link.lost.concerns(message) else { return skip(message, link, id) }
        do throws(CodecError) {
            tell(try WrittenMessage(message, as: link.serialization), of: message, link, id, cause)
        } catch {
            cannotSay(message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    func tell(_ many: inout MessageForMany, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?) {
        do throws(CodecError) {
            tell(try many.written(as: link.serialization), of: many.message, link, id, cause)
        } catch {
            cannotSay(many.message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    private func tell(
        _ written: WrittenMessage, of message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?
    ) {
        // What was short enough when it came may be longer in another serialization, and with longer numbers.
        guard written.byteCount <= local.messageLimit || message.isOfJoining else {
            return cannotSay(message, WAMPURI.Error.payloadSizeExceeded, link, id)
        }
        if !link.tell(written, of: message, from: cause) { hasNoRoom(message, link, id) }
    }

    /// What a message carries is too much, or nothing that the client's serialization has a form for.
    ///
    /// Every request ends all the same: a result does as an error, and a call as if its callee had refused it. A part of a result is left
    /// out, and so is an event.
    private func cannotSay(_ message: WAMPMessage, _ reason: String, _ link: RouterLink, _ id: RouterConnection) {
        local.news.unsayable += 1
        switch message {
        // The call goes on.
        case .result where message.isPart: break
        case .result(let request, _, _): tell(.failed(request, reason), link, id, id)
        case .error(let kind, let request, let details, let uri, let arguments) where !arguments.isEmpty:
            tell(.error(kind, request: request, details: details, uri: uri, .none), link, id, id)
        case .invocation: lose(message, reason, link, id)
        default: break
        }
    }

    /// Others have filled a client's queue: what they sent it ends for them, and not for the client.
    private func hasNoRoom(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        local.news.refusedMessages += 1
        switch message {
        case .result where message.isPart: lose(message, WAMPURI.Error.unavailable, link, id)
        case .result(let request, _, _): tell(.failed(request, WAMPURI.Error.unavailable), link, id, id)
        // As the router's own word, without what others say in it.
        case .error(let kind, let request, let details, let uri, _):
            tell(.error(kind, request: request, details: details, uri: uri, .none), link, id, id)
        case .invocation: lose(message, WAMPURI.Error.unavailable, link, id)
        default: break
        }
    }

    /// The machine ends the call; until then nothing more of it is sent, for a part is not to be missing unnoticed.
    private func lose(_ message: WAMPMessage, _ reason: String, _ link: RouterLink, _ id: RouterConnection) {
        link.lost.note(message)
        hear(.undelivered(id, message, reason: reason), of: id)
    }

    /// A message of a call of which a part could not be sent.
    private func skip(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        // It had its last result before the machine knew that a part was lost.
        if case .result(let request, _, _) = message, !message.isPart {
            link.lost.goOn(message)
            tell(.failed(request, WAMPURI.Error.unavailable), link, id, id)
        }
    }

    /// Lets other clients wait for one of this loop, or go on.
    func tell(_ effects: [Backlog.Effect]) {
        for effect in effects {
            switch effect {
            case .hold(let other): hold(other, true)
            case .release(let other): hold(other, false)
            }
        }
    }

    /// Reads nothing more of a client of any loop, or goes on.
    private func hold(_ id: RouterConnection, _ isHeld: Bool) {
        guard let port = host.port(number: id.port) else { return }
        port.loop.execute { port[id]?.hold(isHeld) }
    }
}
