import CodecCore
import Holdfast
import NIOCore
import WAMPCore
import WebSocketCore

/// The router's clients on one event loop, and the way between them and the machine: in batches, one hop for each burst.
///
/// SAFETY: all is touched on the event loop only, but what is constant.
final class RouterPort: @unchecked Sendable {
    /// What the machine's loop has for this one.
    enum Parcel: Sendable {
        case send(WAMPMessage, to: RouterConnection)
        case sendToAll(WAMPMessage, [RouterConnection])
        case close(RouterConnection, CloseFrame)
        case abort(RouterConnection)
    }

    let loop: any EventLoop
    let number: Int
    let limits: WAMPRouterConfiguration.Limits
    private let codecLimits: CodecLimits
    /// How long a message may be; once they have joined, clients are sent none that the router would not take itself.
    private let messageLimit: Int
    private let writesPlainBase64: Bool
    private let core: RouterCore
    private var links: [RouterLink?] = []
    private var freeSlots: [Int] = []
    private var count: UInt64 = 0
    /// What clients said that the machine has not been told.
    private var inputs: [RouterInput] = []
    private var costs: [Debt.Item] = []
    private var isScheduled = false
    /// Since the tally was told.
    private var news = RouterTally.News()

    init(_ loop: any EventLoop, number: Int, core: RouterCore) {
        (self.loop, self.number, self.core, limits) = (loop, number, core, core.configuration.limits)
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

    func remove(_ link: RouterLink, _ id: RouterConnection) {
        links[id.slot] = nil
        freeSlots.append(id.slot)
        core.tally.add { $0.connections -= 1 }
    }

    /// Tells the machine at the end of this turn of the loop, with all that other clients say in it.
    func hear(_ input: RouterInput, from link: RouterLink, cost: Int) {
        inputs.append(input)
        if cost > 0 { costs.append((link, cost)) }
        guard !isScheduled else { return }
        isScheduled = true
        loop.execute { self.handOver() }
    }

    private func handOver() {
        isScheduled = false
        let (batch, owed) = (inputs, costs)
        (inputs, costs) = ([], [])
        inputs.reserveCapacity(batch.count)
        let debt = owed.isEmpty ? nil : Debt(owed, of: self)
        if core.loop === loop { core.take(batch, owing: debt) } else { core.loop.execute { self.core.take(batch, owing: debt) } }
    }

    /// The router has dealt with so much of what clients said.
    func settle(_ owed: [Debt.Item]) { for (link, cost) in owed { link.settled(cost) } }

    // MARK: - To clients

    /// Delivers what the machine's loop has sent.
    func deliver(_ parcels: [Parcel]) {
        for parcel in parcels {
            switch parcel {
            case .send(let message, let id):
                guard let link = link(id) else { continue }
                if writesPlainBase64, link.serialization == .json {
                    tell(message.withPlainBase64, link, id)
                } else {
                    tell(message, link, id)
                }
            case .sendToAll(let message, let members):
                var many = MessageForMany(message, inJSON: writesPlainBase64 ? message.withPlainBase64 : nil)
                for id in members where id.port == number { link(id).map { tell(&many, $0, id) } }
            case .close(let id, let frame): link(id)?.close(frame)
            case .abort(let id): link(id)?.abort()
            }
        }
        core.tally.add(news)
        news = RouterTally.News()
    }

    private func tell(_ message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        do throws(CodecError) {
            tell(try WrittenMessage(message, as: link.serialization), of: message, link, id)
        } catch {
            cannotSay(message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    private func tell(_ many: inout MessageForMany, _ link: RouterLink, _ id: RouterConnection) {
        do throws(CodecError) {
            tell(try many.written(as: link.serialization), of: many.message, link, id)
        } catch {
            cannotSay(many.message, WAMPURI.Error.invalidArgument, link, id)
        }
    }

    private func tell(_ written: WrittenMessage, of message: WAMPMessage, _ link: RouterLink, _ id: RouterConnection) {
        // What was short enough when it came may be longer in another serialization, and with longer numbers.
        guard written.byteCount <= messageLimit || message.isOfJoining else {
            return cannotSay(message, WAMPURI.Error.payloadSizeExceeded, link, id)
        }
        link.tell(written)
    }

    /// What a message carries is too much, or nothing that the client's serialization has a form for.
    ///
    /// Every request ends all the same: a result does as an error, and a call as if its callee had refused it. A part of a result is left
    /// out, and so is an event.
    private func cannotSay(_ message: WAMPMessage, _ reason: String, _ link: RouterLink, _ id: RouterConnection) {
        news.unsayable += 1
        switch message {
        // The call goes on.
        case .result(_, let details, _) where details["progress"]?.bool == true: break
        case .result(let request, _, _):
            tell(.error(.call, request: request, details: ValueMap(), uri: reason, .none), link, id)
        case .error(let kind, let request, let details, let uri, let arguments) where !arguments.isEmpty:
            tell(.error(kind, request: request, details: details, uri: uri, .none), link, id)
        case .invocation(let request, _, _, _):
            let refusal = WAMPMessage.error(.invocation, request: request, details: ValueMap(), uri: reason, .none)
            hear(.received(id, refusal), from: link, cost: 0)
        default: break
        }
    }

    func carried(_ message: WrittenMessage) {
        news.messagesOut += 1
        news.bytesOut += message.byteCount
    }

    private func link(_ id: RouterConnection) -> RouterLink? {
        guard id.port == number, id.slot < links.count, let link = links[id.slot], link.id == id else { return nil }
        return link
    }
}

extension Duration {
    /// In nanoseconds, as far as they go.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooMuch ? (seconds < 0 ? .min / 4 : .max / 4) : min(max(whole, .min / 4), .max / 4) + attoseconds / 1_000_000_000
    }
}
