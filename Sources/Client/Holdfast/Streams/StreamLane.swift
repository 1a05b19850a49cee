import CodecCore
import WebSocketRuntime
import WebSocketCore

/// All consumers who want the messages as values of one type: a message is decoded once for them, and only if one of them wants it.
protocol StreamLane: AnyObject, Sendable {
    /// A field, and what is to stand there.
    typealias Field = (peek: PayloadPeek, value: FieldValue)
    var key: StreamLaneKey { get }
    /// Nobody takes its messages.
    var isEmpty: Bool { get }

    /// Gives a message to those whom it concerns.
    func offer(_ payload: RawSpan, _ kind: MessageKind, into outcome: inout StreamOffer)
    func remove(_ party: EventHub.Share.Party, from field: Field?)
    func finish(_ end: Result<Void, WebSocketError>)
}

/// What came of a message that was offered to typed streams.
struct StreamOffer {
    /// Who should take some values before more is read.
    var held: [EventHub.Share.Party] = []
    /// Of which types it is no value, and what the codec says of that.
    var failures: [(type: String, error: any Error)] = []
}

/// Of which values and by which decoding the consumers are.
struct StreamLaneKey: Hashable, Sendable {
    let type: ObjectIdentifier
    let name: String

    init<Value>(_ decoding: MessageDecoding<Value>) { (type, name) = (ObjectIdentifier(Value.self), decoding.name) }
}

/// The lane of one type.
///
/// Consumers that want one value of a field are found by that value, so a message costs the same however many values are wanted.
final class TypedStreamLane<Value: Sendable>: StreamLane {
    typealias Intake = any StreamIntake<Value>
    private struct Routes {
        /// Those who want everything.
        var all: [Intake] = []
        var byField: [(peek: PayloadPeek, table: [FieldValue: [Intake]])] = []

        var everybody: [Intake] { all + byField.flatMap { $0.table.values.joined() } }
    }
    private let decoding: MessageDecoding<Value>
    private let routes = LockedValue(Routes())

    init(_ decoding: MessageDecoding<Value>) { self.decoding = decoding }

    var key: StreamLaneKey { StreamLaneKey(decoding) }

    var isEmpty: Bool { routes.withLockedValue { $0.all.isEmpty && $0.byField.isEmpty } }

    /// One more consumer, for the messages with this in a field, or for all.
    func add(_ intake: Intake, for field: Field?) {
        routes.withLockedValue { routes in
            guard let field else { return routes.all.append(intake) }
            if let index = routes.byField.firstIndex(where: { $0.peek == field.peek }) {
                routes.byField[index].table[field.value, default: []].append(intake)
            } else {
                routes.byField.append((field.peek, [field.value: [intake]]))
            }
        }
    }

    func remove(_ party: EventHub.Share.Party, from field: Field?) {
        routes.withLockedValue { routes in
            guard let field else { return routes.all.removeAll { $0.party == party } }
            guard let index = routes.byField.firstIndex(where: { $0.peek == field.peek }) else { return }
            routes.byField[index].table[field.value]?.removeAll { $0.party == party }
            if routes.byField[index].table[field.value]?.isEmpty ?? false { routes.byField[index].table[field.value] = nil }
            if routes.byField[index].table.isEmpty { routes.byField.remove(at: index) }
        }
    }

    func offer(_ payload: RawSpan, _ kind: MessageKind, into outcome: inout StreamOffer) {
        let routes = routes.withLockedValue { $0 }
        // Nil until somebody wants it, then nil within if it is no such value.
        var value: Value??
        give(routes.all, payload, kind, &value, &outcome)
        for (peek, table) in routes.byField {
            guard let field = FieldValue(peek, in: payload), let intakes = table[field] else { continue }
            give(intakes, payload, kind, &value, &outcome)
        }
    }

    func finish(_ end: Result<Void, WebSocketError>) {
        for intake in routes.withLockedValue(\.everybody) { intake.finish(end) }
    }

    private func give(
        _ intakes: [Intake], _ payload: RawSpan, _ kind: MessageKind, _ value: inout Value??, _ outcome: inout StreamOffer
    ) {
        for intake in intakes {
            if intake.takesMessages {
                if intake.push(payload, kind) { outcome.held.append(intake.party) }
                continue
            }
            if value == nil {
                do { value = .some(try decoding.decode(payload, kind)) } catch {
                    value = .some(nil)
                    outcome.failures.append(("\(Value.self)", error))
                }
            }
            if case .some(.some(let value)) = value, intake.push(value) { outcome.held.append(intake.party) }
        }
    }
}
