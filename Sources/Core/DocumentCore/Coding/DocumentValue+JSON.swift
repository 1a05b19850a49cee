import CodecCore

extension DocumentValue {
    /// Reads JSON, or the bare word `undefined`, which Yjs writes for it.
    ///
    /// Nil if the bytes are neither. Values may be nested 100 levels deep.
    init?(json bytes: [UInt8]) {
        if bytes.elementsEqual("undefined".utf8) {
            self = .undefined
            return
        }
        let limits = CodecLimits(maximumDepth: 100)
        guard let value = unsafe bytes.withUnsafeBytes({ unsafe try? Value(json: $0.bytes, limits: limits) }) else { return nil }
        self.init(value)
    }

    private init(_ value: Value) {
        switch value {
        case .bool(let flag): self = .bool(flag)
        case .text(let text): self = .text(text)
        case .array(let items): self = .array(items.map { DocumentValue($0) })
        case .map(let map):
            var entries: [Entry] = []
            for entry in map.entries {
                guard let key = entry.key.string else { continue }
                entries.append(Entry(key, DocumentValue(entry.value)))
            }
            self = .object(entries)
        default: self = value.double.map { .number($0) } ?? .null
        }
    }

    /// The value as JavaScript's `JSON.stringify` writes it.
    public var json: String {
        var text = ""
        write(json: &text)
        return text
    }

    private func write(json text: inout String) {
        switch self {
        // `undefined` is the bare word where it stands alone (Yjs: ContentJSON), and null within an array.
        case .undefined: text += "undefined"
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let number): text += number.isFinite ? Self.digits(number) : "null"
        case .bigInteger(let number): text += String(number)
        case .text(let string): text += string.inJSON
        case .bytes(let bytes):
            DocumentValue.object(bytes.enumerated().map { Entry(String($0.offset), .number(Double($0.element))) }).write(json: &text)
        case .array(let items):
            text += "["
            for (index, item) in items.enumerated() {
                if index > 0 { text += "," }
                if item == .undefined { text += "null" } else { item.write(json: &text) }
            }
            text += "]"
        case .object(let entries):
            text += "{"
            var isFirst = true
            for entry in entries where entry.value != .undefined {
                if !isFirst { text += "," }
                isFirst = false
                text += entry.key.inJSON + ":"
                entry.value.write(json: &text)
            }
            text += "}"
        }
    }

    /// A number as JavaScript prints it: the shortest digits, with an exponent from 1e21 on and below 1e-6.
    private static func digits(_ number: Double) -> String {
        if number == 0 { return "0" }
        if number < 0 { return "-" + digits(-number) }
        // Swift's description has the same shortest digits and only places the point differently.
        let parts = number.description.split(separator: "e")
        let point = parts[0].split(separator: ".")
        var mantissa = point[0] + (point.count > 1 && point[1] != "0" ? point[1] : "")
        var exponent = point[0].count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        let zeros = mantissa.prefix { $0 == "0" }.count
        mantissa.removeFirst(zeros)
        exponent -= zeros
        while mantissa.last == "0" { mantissa.removeLast() }
        let count = mantissa.count
        switch exponent {
        case count...21 where exponent >= count: return mantissa + String(repeating: "0", count: exponent - count)
        case 1...21: return mantissa.prefix(exponent) + "." + mantissa.dropFirst(exponent)
        case -5...0: return "0." + String(repeating: "0", count: -exponent) + mantissa
        default:
            let power = exponent - 1
            return mantissa.prefix(1) + (count > 1 ? "." + mantissa.dropFirst() : "") + (power < 0 ? "e-" : "e+") + String(abs(power))
        }
    }
}
