import CodecCore
import WAMPCore

extension FuzzTarget {
    /// A parsed message can be passed on in every serialization, and is parsed there to the same message.
    static func wampMessage(_ input: inout FuzzInput) throws {
        let serialization = input.choose(WAMPSerialization.allCases)
        guard let message = try? WAMPMessage(decoding: input.rest.bytes, as: serialization) else { return }
        _ = message.debugDescription
        for target in WAMPSerialization.allCases {
            // A value that the serialization lacks becomes the nearest one, and then stays the same.
            let nearest = try passed(message, target)
            let again = try passed(nearest, target)
            try expectEqual(again.type, message.type, "another message was written")
            // Bytes are compared instead of values, because NaN is not equal to itself.
            try expectEqual(
                try again.encoded(as: target), try nearest.encoded(as: target), "it reads otherwise: \(message.debugDescription)")
        }
    }

    private static func passed(_ message: WAMPMessage, _ serialization: WAMPSerialization) throws -> WAMPMessage {
        try message.encoded(as: serialization).withUnsafeBytes { try WAMPMessage(decoding: $0.bytes, as: serialization) }
    }
}
