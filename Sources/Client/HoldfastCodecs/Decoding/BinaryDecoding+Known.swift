import CodecCore
import Foundation
import MachineCore

extension BinaryDecoding {
    /// Decodes a value of a type that has its own form in these formats or a faster path; returns nil for any other type.
    func readKnown<Value: Decodable>(_ type: Value.Type, _ level: Int) throws -> Value? {
        // Comparing types is much cheaper than casting values.
        if type == String.self { return unsafeBitCast(try string(level), to: type) }
        if type == Double.self { return unsafeBitCast(try double(level), to: type) }
        if type == Int.self { return unsafeBitCast(try integer(Int.self, level), to: type) }
        if type == Date.self { return unsafeBitCast(try date(level), to: type) }
        if type == Data.self { return unsafeBitCast(Data(try bytes(Data.self, level)), to: type) }
        if type == Bool.self { return unsafeBitCast(try bool(level), to: type) }
        if type == Float.self { return unsafeBitCast(try float(level), to: type) }
        if type == URL.self { return try url(level) as? Value }
        if type == Decimal.self { return unsafeBitCast(try decimal(level), to: type) }
        if type == [Int].self { return unsafeBitCast(try list(level) { try integer(Int.self, $0) }, to: type) }
        if type == [Double].self { return unsafeBitCast(try list(level) { try double($0) }, to: type) }
        if type == [String].self { return unsafeBitCast(try list(level) { try string($0) }, to: type) }
        if options.byteArrays, type == [UInt8].self, isBytes(level) { return unsafeBitCast(try bytes(type, level), to: type) }
        return nil
    }

    /// Decodes an array directly, without decoding containers.
    private func list<Element>(_ level: Int, _ read: (_ level: Int) throws -> Element) throws -> [Element] {
        leave(to: level)  // The array may have been decoded in part.
        try enter(reader.position, level, isMap: false, [Element].self)
        var list: [Element] = []
        while hasNext(level) {
            list.append(try read(level + 1))
            passedItem(level)
        }
        try finish(level)
        return list
    }

    /// Returns whether the next value is a byte string.
    private func isBytes(_ level: Int) -> Bool {
        let start = reader.position
        defer { reader.position = start }
        return switch try? pastTags(level) {
        case .bytes, .openBytes: true
        default: false
        }
    }

    /// Returns a copy of the bytes of the next value.
    private func bytes(_ type: Any.Type, _ level: Int) throws -> [UInt8] {
        let head = try pastTags(level)
        do {
            switch head {
            case .bytes(let length): return [UInt8](try reader.take(length))
            case .openBytes: return try reader.openBytes(from: reader.position - 1, format)
            case .text(let length) where options.readsBase64:
                if let bytes = Base64.bytes(of: try reader.take(length)) { return bytes }
            default: break
            }
        } catch { throw corrupt(level, error) }
        throw mismatch(type, head, level)
    }

    private func date(_ level: Int) throws -> Date {
        // A date outside of the range that can be encoded is not decoded either.
        guard let date = try anyDate(level), Timestamp(date) != nil else { throw corrupt(level, "this is not a time") }
        return date
    }

    private func anyDate(_ level: Int) throws -> Date? {
        do {
            var head = try reader.head(format)
            while case .tag = head { head = try reader.head(format) }
            switch head {
            case .unsigned(let seconds): return Date(timeIntervalSince1970: Double(seconds))
            case .negative(let magnitude): return Date(timeIntervalSince1970: -1 - Double(magnitude))
            case .float(let seconds) where seconds.isFinite: return Date(timeIntervalSince1970: seconds)
            case .extension(-1, let length): if let time = try reader.messagePackTimestamp(length) { return time.date }
            case .text(let length): if let time = Timestamp(try reader.text(length)) { return time.date }
            case .float, .bytes, .bool, .array, .map, .extension, .null, .openText, .openBytes, .openArray, .openMap, .stop, .simple, .tag:
                throw mismatch(Date.self, head, level)
            }
        } catch let error as CodecError { throw corrupt(level, error) }
        return nil
    }

    private func url(_ level: Int) throws -> URL {
        let text = try string(level)
        guard let url = URL(string: text) else { throw corrupt(level, "this is not a URL") }
        return url
    }

    private func decimal(_ level: Int) throws -> Decimal {
        let start = reader.position
        let head = try pastTags(level)
        switch head {
        case .unsigned(let number): return Decimal(number)
        case .negative(let number): return -1 - Decimal(number)
        case .float(let number) where number.isFinite:
            let decimal = Decimal(number)
            guard !decimal.isNaN else { throw corrupt(level, "the number \(number) does not fit in \(Decimal.self)") }
            return decimal
        default: break
        }
        reader.move(to: start)
        let text = try string(level)
        if text == Decimal.nan.description { return .nan }
        // Foundation would accept any text that begins with a number.
        guard text.isDecimal, let number = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) else {
            throw corrupt(level, "this is not a number")
        }
        return number
    }
}

extension String {
    /// Whether this is a decimal number: optional sign, digits, optional fraction, optional exponent.
    fileprivate var isDecimal: Bool {
        var rest = utf8[...]
        func take(_ characters: String) -> Bool {
            guard let byte = rest.first, characters.utf8.contains(byte) else { return false }
            rest.removeFirst()
            return true
        }
        func takeDigits() -> Bool {
            guard take("0123456789") else { return false }
            while take("0123456789") {}
            return true
        }
        _ = take("+-")
        guard takeDigits(), !take(".") || takeDigits() else { return false }
        guard take("eE") else { return rest.isEmpty }
        _ = take("+-")
        return takeDigits() && rest.isEmpty
    }
}
