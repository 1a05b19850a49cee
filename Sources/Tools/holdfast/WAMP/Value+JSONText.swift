import CodecCore
import MachineCore
import WAMPCore

/// JSON as WAMP has it: bytes are texts of Base64 behind a character of code 0.
///
/// WAMP, "Binary support in JSON".
extension Value {
    /// The value that a text is, or nil if it is no JSON.
    init?(jsonText text: String) {
        let value = Array(text.utf8).withUnsafeBytes { bytes in try? Value(json: bytes.bytes) }
        guard let value else { return nil }
        self = value.withBytesRestored
    }

    /// The value on one line, with nothing in it that could drive a terminal; what JSON cannot say becomes a text about it.
    var jsonLine: String {
        let bytes = (try? withTextsOfBytes.json()) ?? Array(description.inJSON.utf8)
        return String(decoding: bytes, as: UTF8.self).escapedWithinJSON
    }

    private var withTextsOfBytes: Value {
        switch self {
        case .bytes(let bytes): .text("\0" + Base64.text(bytes))
        case .array(let items): .array(items.map(\.withTextsOfBytes))
        case .map(let map): .map(ValueMap(map.entries.map { .init(key: $0.key, value: $0.value.withTextsOfBytes) }))
        case .tagged(let tag, let value): .tagged(tag, value.withTextsOfBytes)
        default: self
        }
    }
}
