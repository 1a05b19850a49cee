import CodecCore
import MachineCore
import Testing
import WAMPCore

/// Properties of all messages, tested with random ones.
@Suite struct WAMPPropertyTests {
    @Test(arguments: 0..<20) func `an encoded message is decoded to the same one, also through another serialization`(seed: UInt64) throws {
        var made = MadeUpMessages(seed: seed)
        for _ in 0..<20 {
            let message = made.message()
            var passed = message
            for serialization in WAMPSerialization.allCases + WAMPSerialization.allCases.shuffled(using: &made.chance) {
                passed = try wampMessage(passed.encoded(as: serialization), serialization)
                #expect(passed == message, "\(serialization) \(message.debugDescription)")
                #expect(passed.hashValue == message.hashValue)
                #expect(passed.words() == message.words())
            }
        }
    }

    @Test(arguments: 0..<12) func `any bytes are a message or an error and never a trap`(seed: UInt64) throws {
        var made = MadeUpMessages(seed: seed)
        for _ in 0..<10 {
            for serialization in WAMPSerialization.allCases {
                var bytes = try made.message().encoded(as: serialization)
                for _ in 0..<20 {
                    bytes[Int.random(in: 0..<bytes.count, using: &made.chance)] = UInt8.random(in: 0...255, using: &made.chance)
                    guard let message = try? wampMessage(bytes, serialization) else { continue }
                    let written = try message.encoded(as: serialization)
                    #expect(try wampMessage(written, serialization).encoded(as: serialization) == written)
                    _ = message.debugDescription
                }
            }
        }
    }
}

/// Random messages with values that all serializations represent exactly.
struct MadeUpMessages {
    var chance: SplitMix64

    init(seed: UInt64) { chance = SplitMix64(seed: seed) }

    mutating func message() -> WAMPMessage {
        let (request, id) = (number(), max(number(), 1))
        let (map, text, arguments) = (self.map(2), self.text(), self.arguments())
        switch Int.random(in: 0..<24, using: &chance) {
        case 0: return .hello(realm: text, details: map)
        case 1: return .welcome(session: id, details: map)
        case 2: return .abort(details: map, reason: text, arguments)
        case 3: return .challenge(method: text, extra: map)
        case 4: return .authenticate(signature: text, extra: map)
        case 5: return .goodbye(details: map, reason: text, arguments)
        case 6:
            return .error(
                WAMPRequestKind.allCases.randomElement(using: &chance) ?? .call, request: request, details: map, uri: text, arguments)
        case 7: return .publish(request: request, options: map, topic: text, arguments)
        case 8: return .published(request: request, publication: id)
        case 9: return .subscribe(request: request, options: map, topic: text)
        case 10: return .subscribed(request: request, subscription: id)
        case 11: return .unsubscribe(request: request, subscription: id)
        case 12: return .unsubscribed(request: request, details: request == 0 ? map : [:])
        case 13: return .event(subscription: id, publication: max(number(), 1), details: map, arguments)
        case 14: return .call(request: request, options: map, procedure: text, arguments)
        case 15: return .cancel(request: request, options: map)
        case 16: return .result(request: request, details: map, arguments)
        case 17: return .register(request: request, options: map, procedure: text)
        case 18: return .registered(request: request, registration: id)
        case 19: return .unregister(request: request, registration: id)
        case 20: return .unregistered(request: request, details: request == 0 ? map : [:])
        case 21: return .invocation(request: request, registration: id, details: map, arguments)
        case 22: return .interrupt(request: request, options: map)
        default: return .yield(request: request, options: map, arguments)
        }
    }

    private mutating func number() -> WAMPID {
        WAMPID.random(in: 0...WAMPID.largestWAMPID, using: &chance) >> WAMPID.random(in: 0...54, using: &chance)
    }

    private mutating func arguments() -> WAMPArguments {
        WAMPArguments((0..<Int.random(in: 0...3, using: &chance)).map { _ in value(3) }, keywords: map(3))
    }

    private mutating func map(_ depth: Int) -> ValueMap {
        ValueMap((0..<Int.random(in: 0...3, using: &chance)).map { ValueMap.Entry(key: .text("\($0)\(text())"), value: value(depth)) })
    }

    private mutating func value(_ depth: Int) -> Value {
        switch Int.random(in: 0...(depth > 0 ? 9 : 7), using: &chance) {
        case 0: return nil
        case 1: return .bool(.random(using: &chance))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &chance) >> Int64.random(in: 0...63, using: &chance))
        case 3: return Value(UInt64.random(in: .min ... .max, using: &chance))
        case 4:
            let number = Double(bitPattern: UInt64.random(in: .min ... .max, using: &chance))
            return .float(number.isFinite ? number : 0.5)
        case 5: return .bytes((0..<Int.random(in: 0...40, using: &chance)).map { UInt8(truncatingIfNeeded: $0) })
        case 8: return .array((0..<Int.random(in: 0...20, using: &chance)).map { _ in value(depth - 1) })
        case 9: return .map(map(depth - 1))
        default: return .text(text())
        }
    }

    /// A text that does not look like bytes in JSON.
    private mutating func text() -> String {
        "t" + String(String.UnicodeScalarView((0..<Int.random(in: 0...20, using: &chance)).map { _ in scalar() }))
    }

    private mutating func scalar() -> Unicode.Scalar {
        Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &chance) >> UInt32.random(in: 0...20, using: &chance)) ?? "?"
    }
}
