package import CodecCore

/// The arguments of an event or an acknowledgement: a JSON array, and the byte strings that its placeholders stand for.
///
/// In the JSON `{"_placeholder":true,"num":0}` stands for the first byte string (Socket.IO protocol 5, "Binary event").
package struct SocketIOArguments: Hashable, Sendable {
    /// The array, as JSON; for an event its first item is the name.
    package var json: [UInt8]
    /// The byte strings.
    package var attachments: [[UInt8]]

    package init(json: [UInt8], attachments: [[UInt8]] = []) { (self.json, self.attachments) = (json, attachments) }

    /// The number of bytes that it takes on the wire, and in memory.
    package var size: Int { attachments.reduce(json.count) { $0 + $1.count } }

    // MARK: - Values

    private static let placeholder = Value.text("_placeholder")
    private static let number = Value.text("num")

    /// Encodes values; all byte strings become attachments, wherever they are.
    package init(_ values: [Value]) throws(CodecError) {
        attachments = []
        var found: [[UInt8]] = []
        let array = Value.array(values.map { Self.withoutBytes($0, &found) })
        (json, attachments) = (try array.json(), found)
    }

    private static func withoutBytes(_ value: Value, _ found: inout [[UInt8]]) -> Value {
        switch value {
        case .bytes(let bytes):
            found.append(bytes)
            return .map([placeholder: true, number: .integer(Int64(found.count - 1))])
        case .array(let items): return .array(items.map { withoutBytes($0, &found) })
        case .map(let map): return .map(ValueMap(map.map { ValueMap.Entry(key: $0.key, value: withoutBytes($0.value, &found)) }))
        case .tagged(_, let inner): return withoutBytes(inner, &found)
        default: return value
        }
    }

    /// Decodes the values, with the byte strings in their places.
    ///
    /// - Throws: A `CodecError` if a placeholder stands for no byte string, or for one that another placeholder stands for. Otherwise a short
    ///   message could stand for any amount of memory.
    package func values() throws(CodecError) -> [Value] {
        guard let items = try Value(json: json).items else { throw CodecError(.malformed, at: 0) }
        if attachments.isEmpty { return items }
        var left = attachments.map { Optional($0) }
        var result: [Value] = []
        for item in items { result.append(try Self.withBytes(item, &left)) }
        return result
    }

    private static func withBytes(_ value: Value, _ left: inout [[UInt8]?]) throws(CodecError) -> Value {
        switch value {
        case .array(let items):
            var result: [Value] = []
            for item in items { result.append(try withBytes(item, &left)) }
            return .array(result)
        case .map(let map) where map[placeholder] == true:
            guard let place = map[number]?.int, left.indices.contains(place), let bytes = left[place] else {
                throw CodecError(.malformed, at: 0)
            }
            left[place] = nil
            return .bytes(bytes)
        case .map(let map):
            var entries: [ValueMap.Entry] = []
            for entry in map { entries.append(ValueMap.Entry(key: entry.key, value: try withBytes(entry.value, &left))) }
            return .map(ValueMap(entries))
        default: return value
        }
    }
}

/// A packet of Socket.IO without its byte strings, which follow as messages of their own.
package struct SocketIOPacket: Hashable, Sendable {
    /// What the packet is for.
    package enum Kind: UInt8, Sendable {
        case connect, disconnect, event, acknowledgement, connectError, binaryEvent, binaryAcknowledgement
    }
    /// The maximum nesting depth of the JSON.
    static let maximumDepth = 64

    package var kind: Kind
    /// The namespace; `/` is not written.
    package var namespace = "/"
    /// The number of the acknowledgement.
    package var id: Int?
    /// How many byte strings follow.
    package var attachments = 0
    /// The rest, as JSON; empty if there is none.
    package var json: [UInt8] = []
    /// The name of an event; empty for other packets.
    package var name = ""

    package init(_ kind: Kind, namespace: String, id: Int? = nil, attachments: Int = 0, json: [UInt8] = []) {
        (self.kind, self.namespace, self.id, self.attachments, self.json) = (kind, namespace, id, attachments, json)
    }

    /// Writes the packet as a message of Engine.IO.
    package var text: String {
        var writer = ByteWriter(capacity: json.count + namespace.utf8.count + 24)
        writer.append(UInt8(ascii: "4"))
        writer.append(UInt8(ascii: "0") + kind.rawValue)
        if kind == .binaryEvent || kind == .binaryAcknowledgement {
            writer.digits(UInt64(attachments))
            writer.append(UInt8(ascii: "-"))
        }
        if namespace != "/" {
            writer.plain(namespace)
            writer.append(UInt8(ascii: ","))
        }
        if let id { writer.digits(UInt64(id)) }
        writer.append(all: json)
        return unsafe String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Reads a packet to the end of the bytes.
    ///
    /// - Throws: A `CodecError` if it breaks the protocol. The JSON is checked whole, so that later readers cannot fail on its syntax.
    package init(_ reader: inout ByteReader) throws(CodecError) {
        guard let kind = Kind(rawValue: try reader.byte() &- UInt8(ascii: "0")) else { throw CodecError(.malformed, at: reader.position) }
        self.kind = kind
        if kind == .binaryEvent || kind == .binaryAcknowledgement {
            guard let count = try reader.digits() else { throw CodecError(.malformed, at: reader.position) }
            attachments = count
            try reader.expect(UInt8(ascii: "-"))
        }
        if reader.peek() == UInt8(ascii: "/") {
            let start = reader.position
            while let byte = reader.peek(), byte != UInt8(ascii: ",") { reader.position += 1 }
            namespace = unsafe String(decoding: reader.bytes(from: start, to: reader.position), as: UTF8.self)
            if reader.peek() != nil { reader.position += 1 }
        }
        id = try reader.digits()
        let start = reader.position
        json = unsafe [UInt8](reader.bytes(from: start, to: reader.end))
        switch kind {
        case .disconnect: json = []
        case .connect where json.isEmpty, .connectError where json.isEmpty: break
        case .connect, .connectError: try reader.checkJSON(levels: Self.maximumDepth)
        case .event, .binaryEvent:
            name = try reader.eventName()
            reader.move(to: start)
            try reader.checkJSON(levels: Self.maximumDepth)
        case .acknowledgement, .binaryAcknowledgement:
            guard id != nil, reader.peek() == UInt8(ascii: "[") else { throw CodecError(.malformed, at: reader.position) }
            try reader.checkJSON(levels: Self.maximumDepth)
        }
        if reader.position < reader.end, kind != .disconnect { try reader.finishJSON() }
    }
}

extension ByteReader {
    /// Reads an unsigned integer; nil if there is no digit.
    fileprivate mutating func digits() throws(CodecError) -> Int? {
        var number: Int?
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            let (tens, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeNow) = tens.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            if isTooLarge || isTooLargeNow { throw CodecError(.overflow, at: position) }
            (number, position) = (sum, position + 1)
        }
        return number
    }

    /// Reads the first item of an array, which must be a text.
    fileprivate mutating func eventName() throws(CodecError) -> String {
        guard peek() == UInt8(ascii: "[") else { throw CodecError(.malformed, at: position) }
        position += 1
        skipSpace()
        guard peek() == UInt8(ascii: "\"") else { throw CodecError(.malformed, at: position) }
        position += 1
        return try string(of: try jsonText())
    }
}
