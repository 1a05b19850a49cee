import CodecCore
import Holdfast
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// The router's clients on one event loop, and the way between them and the machine: in batches, one hop for each burst.
///
/// SAFETY: all is touched on the event loop only, but what is constant.
final class RouterPort: @unchecked Sendable {
    /// What the machine's loop has for this one.
    enum Parcel: Sendable {
        case send(WAMPMessage, to: RouterConnection, from: RouterConnection?)
        case sendToAll(WAMPMessage, [RouterConnection], from: RouterConnection?)
        /// The machine knows that this could not be sent.
        case gaveUp(WAMPMessage, of: RouterConnection)
        case close(RouterConnection, CloseFrame)
        case abort(RouterConnection)
    }

    let loop: any EventLoop
    let number: Int
    let limits: WAMPRouterConfiguration.Limits
    let bounds: Backlog.Bounds
    private let codecLimits: CodecLimits
    /// How long a message may be; once they have joined, clients are sent none that the router would not take itself.
    private let messageLimit: Int
    private let writesPlainBase64: Bool
    private let core: RouterCore
    private var links: [RouterLink?] = []
    private var freeSlots: [Int] = []
    private var count: UInt64 = 0
    /// What clients said that the machine has not been told.
    private var inputs: [RouterCore.Saying] = []
    private var isScheduled = false
    /// Since the tally was told.
    private var news = RouterTally.News()

    init(_ loop: any EventLoop, number: Int, core: RouterCore) {
        (self.loop, self.number, self.core, limits) = (loop, number, core, core.configuration.limits)
        bounds = Backlog.Bounds(waiting: limits.waiting, slowest: limits.slowest)
        messageLimit = core.configuration.server.limits.message
        writesPlainBase64 = core.configuration.policy.quirks.writesPlainBase64
        codecLimits = CodecLimits(maximumDepth: 64, maximumBytes: messageLimit)
    }

    // MARK: - From clients

    /// Reads a message; on any thread.
    func read(_ kind: MessageKind, _ bytes: RawSpan, as serialization: WAMPSerialization) -> Result<WAMPMessage, WAMPFormatError> {
        guard kind == serialization.messageKind else { return .failure(WAMPFormatError(.messageKind)) }
        do throws(WAMPFormatError) {
            return .success(try WAMPMessage(decoding: bytes, as: serialization, limits: codecLimits))
        } catch {
            return .failure(error)
        }
    }

    /// Gives a client a number; nil: there are too many.
    func add(_ link: RouterLink) -> RouterConnection? {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            links[slot] = link
        } else {
            guard links.count < RouterConnection.mostSlots else { return nil }
            slot = links.count
            links.append(link)
        }
        count += 1
        core.tally.add { $0.connections += 1 }
        return RouterConnection(count: count, slot: slot, port: number)
    }

    /// A client of an address comes; false if there are as many as may be.
    func takeSeat(_ address: String?) -> Bool { core.seats.withLockedValue { $0.take(address) } }
    /// It has gone.
    func leaveSeat(_ address: String?) { core.seats.withLockedValue { $0.leave(address) } }

    /// So many more bytes are to wait for clients of an address.
    ///
    /// - Returns: How many more may then; nil: not even these.
    func takeQueue(_ bytes: Int, of address: String?) -> Int? {
        core.queues.withLockedValue { $0.take(address, bytes) ? $0.left(for: address) : nil }
    }
    /// They wait no longer.
    func leaveQueue(_ bytes: Int, of address: String?) { core.queues.withLockedValue { $0.leave(address, bytes) } }

    func remove(_ link: RouterLink, _ id: RouterConnection) {
        links[id.slot] = nil
        freeSlots.append(id.slot)
        core.tally.add { $0.connections -= 1 }
    }

    /// Tells the machine at the end of this turn of the loop, with all that other clients say in it.
    func hear(_ input: RouterInput, from link: RouterLink, cost: Int) {
        inputs.append(RouterCore.Saying(input: input, link: link, port: number, cost: cost))
        guard !isScheduled else { return }
        isScheduled = true
        loop.execute { self.handOver() }
    }

    private func handOver() {
        isScheduled = false
        let batch = inputs
        inputs = []
        inputs.reserveCapacity(batch.count)
        if core.loop === loop { core.take(batch) } else { core.loop.execute { self.core.take(batch) } }
    }

    /// The router has dealt with so much of what clients said.
    func settle(_ owed: [Debt.Item]) { for (link, cost) in owed { link.settled(cost) } }

    // MARK: - To clients

    /// Delivers what the machine's loop has sent.
    func deliver(_ parcels: [Parcel]) {
        for parcel in parcels {
            switch parcel {
            case .send(let message, let id, let cause):
                guard let link = link(id) else { continue }
                if case .event(_, _, _, let arguments) = message, link.leavesOut(arguments, from: cause) {
                    news.refused += 1
                    continue
                }
                if writesPlainBase64, link.serialization == .json {
                    tell(message.withPlainBase64, link, id, cause)
                } else {
                    tell(message, link, id, cause)
                }
            case .sendToAll(let message, let members, let cause):
                let inJSON = writesPlainBase64 ? message.withPlainBase64 : nil
                var many = MessageForMany(message, inJSON: inJSON, for: members.count / core.portCount)
                for id in members where id.port == number { link(id).map { tell(&many, $0, id, cause) } }
            case .gaveUp(let message, let id): link(id)?.lost.goOn(message)
            case .close(let id, let frame): link(id)?.close(frame)
            case .abort(let id): link(id)?.abort()
            }
        }
        core.tally.add(news)
        news = RouterTally.News()
    }

    private func tell(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?) {
        guard link.lost.isEmpty || !link.lost.concerns(message) else { return skip(message, link, id) }
        do throws(CodecError) {
            tell(try WrittenMessage(message, as: link.serialization), of: message, link, id, cause)
        } catch {
            cannotSay(message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    private func tell(_ many: inout MessageForMany, _ link: RouterLink, _ id: RouterConnection, _ cause: RouterConnection?) {
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
        guard written.byteCount <= messageLimit || message.isOfJoining else {
            return cannotSay(message, WAMPURI.Error.payloadSizeExceeded, link, id)
        }
        if !link.tell(written, of: message, from: cause) { hasNoRoom(message, link, id) }
    }

    /// What a message carries is too much, or nothing that the client's serialization has a form for.
    ///
    /// Every request ends all the same: a result does as an error, and a call as if its callee had refused it. A part of a result is left
    /// out, and so is an event.
    private func cannotSay(_ message: WAMPMessage, _ reason: String, _ link: RouterLink, _ id: RouterConnection) {
        news.unsayable += 1
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
        news.refused += 1
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
        hear(.undelivered(id, message, reason: reason), from: link, cost: 0)
    }

    /// A message of a call of which a part could not be sent.
    private func skip(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        // It had its last result before the machine knew that a part was lost.
        if case .result(let request, _, _) = message, !message.isPart {
            link.lost.goOn(message)
            tell(.failed(request, WAMPURI.Error.unavailable), link, id, id)
        }
    }

    /// Reads nothing more of a client, or goes on, because of another one; from any thread.
    func hold(_ id: RouterConnection, _ isHeld: Bool) { loop.execute { self.link(id)?.hold(isHeld) } }

    /// Lets other clients wait for one of this loop, or go on.
    func tell(_ effects: [Backlog.Effect]) {
        for effect in effects {
            switch effect {
            case .hold(let other): core.hold(other, true)
            case .release(let other): core.hold(other, false)
            }
        }
    }

    /// The present, and what ends then.
    var time: LinkTime { core.time }

    func carried(_ message: WrittenMessage) {
        news.messagesOut += 1
        news.bytesOut += message.byteCount
    }

    private func link(_ id: RouterConnection) -> RouterLink? {
        guard id.port == number, id.slot < links.count, let link = links[id.slot], link.id == id else { return nil }
        return link
    }
}
