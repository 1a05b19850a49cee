package import CodecCore
import MachineCore

// WAMP, "Binary conversion of JSON strings": bytes are a text of Base64 behind a character of code 0. A text that begins so and is no
// Base64 stays a text. Keys of dictionaries are always texts.
extension Value {
    /// Whether a text in here stands for bytes, or looks like it.
    var hasBytesAsText: Bool {
        switch self {
        case .text(let text): text.utf8.first == 0
        case .array(let items): items.contains(where: \.hasBytesAsText)
        case .map(let map): map.entries.contains(where: \.value.hasBytesAsText)
        default: false
        }
    }

    /// The value with bytes where texts stand for them.
    package var withBytesRestored: Value {
        switch self {
        case .text(var text):
            guard text.utf8.first == 0 else { return self }
            let bytes = text.withUTF8 { unsafe Base64.bytes(of: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer($0).dropFirst())) }
            return bytes.map { .bytes($0) } ?? self
        case .array(let items): return .array(items.map(\.withBytesRestored))
        case .map(let map): return .map(ValueMap(map.map { ValueMap.Entry(key: $0.key, value: $0.value.withBytesRestored) }))
        default: return self
        }
    }
}
