import CodecCore
import MachineCore
import WAMPCore

// See ``RouterPolicy/Quirks/writesPlainBase64``.
extension WAMPMessage {
    /// The same with texts of Base64 where it carries bytes; what came as JSON holds none.
    var withPlainBase64: WAMPMessage {
        switch self {
        case .event(let subscription, let publication, let details, let arguments):
            .event(subscription: subscription, publication: publication, details: details, arguments.withPlainBase64)
        case .invocation(let request, let registration, let details, let arguments):
            .invocation(request: request, registration: registration, details: details, arguments.withPlainBase64)
        case .result(let request, let details, let arguments): .result(request: request, details: details, arguments.withPlainBase64)
        case .error(let kind, let request, let details, let uri, let arguments):
            .error(kind, request: request, details: details, uri: uri, arguments.withPlainBase64)
        default: self
        }
    }
}

extension WAMPArguments {
    fileprivate var withPlainBase64: WAMPArguments {
        guard rawSerialization != .json, let list = try? list, let keywords = try? keywords else { return self }
        return WAMPArguments(list.map(\.withPlainBase64), keywords: keywords.withPlainBase64)
    }
}

extension ValueMap {
    fileprivate var withPlainBase64: ValueMap {
        ValueMap(entries.map { ValueMap.Entry(key: $0.key, value: $0.value.withPlainBase64) })
    }
}

extension Value {
    fileprivate var withPlainBase64: Value {
        switch self {
        case .bytes(let bytes): .text(Base64.text(bytes))
        case .array(let items): .array(items.map(\.withPlainBase64))
        case .map(let map): .map(map.withPlainBase64)
        default: self
        }
    }
}
