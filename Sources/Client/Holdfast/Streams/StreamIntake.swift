import CodecCore
import StreamCore
import WebSocketCore

/// Takes what one consumer of a typed stream is to get, from whoever reads.
protocol StreamIntake<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable
    var party: EventHub.Share.Party { get }
    /// It takes messages as they come, and nobody need decode them for it.
    var takesMessages: Bool { get }
    /// Nothing more should be read before the consumer has taken some.
    var isHeld: Bool { get }

    /// A value for it; true if ``isHeld``.
    func push(_ value: Value) -> Bool
    /// A message for it, lent for the time of the call; true if ``isHeld``.
    func push(_ payload: RawSpan, _ kind: MessageKind) -> Bool
    func finish(_ end: Result<Void, WebSocketError>)
}

/// Takes values that were decoded for all consumers at once.
final class ValueIntake<Value: Sendable, Output: Sendable>: StreamIntake {
    let party: EventHub.Share.Party
    private let mailbox: StreamMailbox<Value, Output>

    init(_ party: EventHub.Share.Party, _ mailbox: StreamMailbox<Value, Output>) { (self.party, self.mailbox) = (party, mailbox) }

    var takesMessages: Bool { false }
    var isHeld: Bool { mailbox.isHeld }

    func push(_ value: Value) -> Bool { mailbox.push(value) }
    func push(_ payload: RawSpan, _ kind: MessageKind) -> Bool { false }
    func finish(_ end: Result<Void, WebSocketError>) { mailbox.finish(end) }
}

/// Takes messages as they come, with a look at the field that tells them apart.
final class FieldIntake<Value: Sendable, Output: Sendable>: StreamIntake {
    let party: EventHub.Share.Party
    private let peek: PayloadPeek
    private let mailbox: StreamMailbox<FieldMessage, Output>

    init(_ party: EventHub.Share.Party, _ peek: PayloadPeek, _ mailbox: StreamMailbox<FieldMessage, Output>) {
        (self.party, self.peek, self.mailbox) = (party, peek, mailbox)
    }

    var takesMessages: Bool { true }
    var isHeld: Bool { mailbox.isHeld }

    func push(_ value: Value) -> Bool { false }

    func push(_ payload: RawSpan, _ kind: MessageKind) -> Bool {
        let bytes = payload.withUnsafeBytes { [UInt8]($0) }
        return mailbox.push(FieldMessage(field: FieldValue(peek, in: payload), bytes: bytes, kind: kind))
    }

    func finish(_ end: Result<Void, WebSocketError>) { mailbox.finish(end) }
}

/// A message that waits to be decoded.
struct FieldMessage: Sendable {
    let field: FieldValue?
    let bytes: [UInt8]
    let kind: MessageKind

    /// As the peer sent it.
    var message: Message { kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes) }
}
