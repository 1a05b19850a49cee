import CodecCore
import Foundation

extension BinaryDecoding {
    /// Reads a value of a type with a form of its own in these formats, or for which there is a shorter way; nil of any other.
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
        return nil
    }

    /// Takes bytes; they are there as long as the bytes that are decoded.
    private func bytes(_ type: Any.Type, _ level: Int) throws -> [UInt8] {
        let head = try pastTags(level)
        do {
            switch head {
            case .bytes(let length): return [UInt8](try reader.take(length))
            case .openBytes: return try reader.openBytes(from: reader.position - 1, format)
            default: break
            }
        } catch { throw corrupt(level, error) }
        throw mismatch(type, head, level)
    }

    private func date(_ level: Int) throws -> Date {
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
        throw corrupt(level, "this is no time")
    }

    private func url(_ level: Int) throws -> URL {
        let text = try string(level)
        guard let url = URL(string: text) else { throw corrupt(level, "this is no URL") }
        return url
    }

    private func decimal(_ level: Int) throws -> Decimal {
        let start = reader.position
        let head = try pastTags(level)
        switch head {
        case .unsigned(let number): return Decimal(number)
        case .negative(let number): return -1 - Decimal(number)
        case .float(let number) where number.isFinite: return Decimal(number)
        default: break
        }
        reader.move(to: start)
        guard let number = Decimal(string: try string(level), locale: Locale(identifier: "en_US_POSIX")) else {
            throw corrupt(level, "this is no number")
        }
        return number
    }
}
