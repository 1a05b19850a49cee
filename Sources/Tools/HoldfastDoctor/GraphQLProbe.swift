import GraphQLCore
import Holdfast
import ProtocolCore

/// How a server speaks GraphQL in one subprotocol.
struct GraphQLView: Encodable, Hashable, Sendable {
    typealias Refusal = StepRefusal

    /// `graphql-transport-ws` or `graphql-ws`, as in `Sec-WebSocket-Protocol`.
    let subprotocol: String
    /// The time from `connection_init` to `connection_ack`.
    var acknowledgedMs: Double?
    /// How the server refused `connection_init` without a payload.
    var refusal: Refusal?
    /// Whether the server sent a ping before it acknowledged.
    var pingsEarly = false
    /// The time from a ping of the protocol to its pong; the legacy protocol has no pings.
    var pongMs: Double?
    /// Whether the server answered the query `{ __typename }` with data.
    var answersQuery: Bool?
    /// How the server refused a query with a syntax error.
    var syntaxError: Refusal?
}

/// Offers the subprotocols of GraphQL; if the server takes one, begins a connection of it, and sends a query that is right and one that is not.
enum GraphQLProbe {
    static func run(_ version: GraphQLProtocol, _ target: ProbeTarget) async -> GraphQLView? {
        let wire: Wire
        // A server that refuses the subprotocol has no GraphQL.
        do { wire = try await Wire.open(target, change: { $0.subprotocols = [version.rawValue] }) } catch { return nil }
        guard wire.view.subprotocol == version.rawValue else {
            await wire.leave()
            return nil
        }
        var dialog = Dialog(messages: WireMessages(wire: wire), coding: GraphQLCoding(version), target: target)
        let view = await dialog.run(version)
        await wire.leave()
        return view
    }

    /// The messages on one connection.
    private struct Dialog {
        var messages: WireMessages
        let coding: GraphQLCoding
        let target: ProbeTarget

        mutating func run(_ version: GraphQLProtocol) async -> GraphQLView {
            var view = GraphQLView(subprotocol: version.rawValue)
            let start = ContinuousClock.now
            await send(.initialize(payload: nil))
            opening: while true {
                switch await next() {
                case .success(.acknowledged): break opening
                case .success(.ping(let payload)):
                    view.pingsEarly = true
                    await send(.pong(payload: payload))
                case .success(.refused(let errors)):
                    view.refusal = GraphQLView.Refusal(text: errors.first?.message ?? "connection_error")
                    return view
                case .success: break
                case .failure(let refusal):
                    view.refusal = refusal
                    return view
                }
            }
            view.acknowledgedMs = start.duration(to: .now).ms
            if version == .transportWS {
                let start = ContinuousClock.now
                await send(.ping)
                let pong = await reply { if case .pong = $0 { true } else { false } }
                if case .success = pong { view.pongMs = start.duration(to: .now).ms }
            }
            view.answersQuery = await refusal(of: "{ __typename }", id: 1) == nil
            view.syntaxError = await refusal(of: "{ __typename", id: 2)
            return view
        }

        /// Sends a query, and returns how the server refuses it; nil if it answers with data.
        private mutating func refusal(of query: String, id: UInt64) async -> GraphQLView.Refusal? {
            let id = RequestID(id)
            await send(.subscribe(id, payload: Array(#"{"query":"\#(query)"}"#.utf8)))
            let answer = await reply { reply in
                switch reply {
                case .next(id, _), .failed(id, _), .completed(id): true
                default: false
                }
            }
            switch answer {
            case .success(.next(_, let result)):
                return result.data == nil ? GraphQLView.Refusal(text: result.errors.first?.message ?? "no data") : nil
            case .success(.failed(_, let errors)): return GraphQLView.Refusal(text: errors.first?.message ?? "an error")
            case .success: return GraphQLView.Refusal(text: "no result")
            case .failure(let refusal): return refusal
            }
        }

        /// Waits for a reply; answers pings.
        private mutating func reply(_ isWanted: (GraphQLReply) -> Bool) async -> Result<GraphQLReply, GraphQLView.Refusal> {
            let deadline = target.deadline()
            while true {
                let next = await next(until: deadline)
                switch next {
                case .success(.ping(let payload)): await send(.pong(payload: payload))
                case .success(let reply) where !isWanted(reply): break
                default: return next
                }
            }
        }

        private mutating func next(until deadline: ContinuousClock.Instant? = nil) async -> Result<GraphQLReply, GraphQLView.Refusal> {
            await messages.next(until: deadline ?? target.deadline()) { [coding] in try coding.decode($0) }
        }

        private func send(_ request: GraphQLRequest) async {
            guard case .text(let text) = coding.encode(request) else { return }
            await messages.wire.send(.text, Array(text.utf8))
        }
    }
}
