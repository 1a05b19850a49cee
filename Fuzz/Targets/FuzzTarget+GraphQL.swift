import CodecCore
import GraphQLCore
import MachineCore
import ProtocolCore
import WebSocketCore

extension FuzzTarget {
    /// Messages of a server for a client with a query, a mutation and two subscriptions.
    ///
    /// An operation ends at most once, gets nothing after its end, and only a subscription or parts of a result come more than once.
    static func graphQLServer(_ input: inout FuzzInput) throws {
        let coding = GraphQLCoding(input.choose(GraphQLProtocol.allCases))
        var policy = GraphQLPolicy()
        policy.incrementalBytes = 4096
        var (machine, effects) = (GraphQLMachine(policy), [GraphQLMachine.Effect]())
        let kinds: [PendingOperation.Kind] = [.query, .mutation, .subscription, .subscription]
        for (number, kind) in kinds.enumerated() {
            let operation = PendingOperation(kind, payload: Array("{}".utf8))
            machine.handle(.command(.begin(RequestID(UInt64(number)), operation, patience: .seconds(60))), at: .start, into: &effects)
        }
        machine.handle(.opened(coding.greeting), at: .start, into: &effects)
        var open = Set((0..<UInt64(kinds.count)).map { RequestID($0) })
        for (second, line) in input.text.split(separator: "\n").enumerated() {
            let now = Moment(.seconds(second))
            do {
                guard let reply = try coding.decode(.text(String(line))) else { continue }
                machine.handle(.received(reply), at: now, into: &effects)
            } catch {
                machine.handle(.undecodable("\(error)"), at: now, into: &effects)
            }
            var handled = 0
            while handled < effects.count {
                switch effects[handled] {
                case .send(let message): try expect(isJSON(coding.encode(message)), "it sends what is not JSON: \(message)")
                case .event(let event): try check(event, &open)
                case .end(.stop): return
                case .end:
                    machine.handle(.lost(unsent: []), at: now, into: &effects)
                    machine.handle(.opened(coding.greeting), at: now, into: &effects)
                default: break
                }
                handled += 1
            }
            effects.removeAll()
        }
    }

    private static func check(_ event: GraphQLMachine.Event, _ open: inout Set<RequestID>) throws {
        guard let id = event.request else { throw Finding(description: "an event without an operation: \(event)") }
        try expect(open.contains(id), "an event after the end of \(id): \(event)")
        if event.isLast { open.remove(id) }
        guard case .next(let result) = event.content else { return }
        try expect(event.isLast || result.hasNext == true || id.number > 1, "a query goes on after its result: \(event)")
    }

    private static func isJSON(_ message: Message) -> Bool {
        guard case .text(let text) = message else { return false }
        return (try? Array(text.utf8).withUnsafeBytes { try Value(json: $0.bytes) }) != nil
    }
}
