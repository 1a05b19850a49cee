import CodecCore
import MachineCore

extension FrameReader {
    /// Takes the name of a room.
    mutating func room(_ field: StaticString = "room") throws(FrameError) -> RoomName {
        let place = position
        guard let name = RoomName(try text(field)) else { throw FrameError(.invalidName, field: field, at: place) }
        return name
    }

    mutating func user(_ field: StaticString = "user") throws(FrameError) -> UserName {
        let place = position
        guard let name = UserName(try text(field)) else { throw FrameError(.invalidName, field: field, at: place) }
        return name
    }

    mutating func epoch(_ field: StaticString = "epoch") throws(FrameError) -> UInt64 {
        unsafe try value(field) { bytes in bytes.count == 16 ? unsafe Hexadecimal.number(bytes) : nil }
    }

    mutating func device() throws(FrameError) -> DeviceID {
        DeviceID(unsafe try value("device") { bytes in unsafe Bits128(digits: bytes, dashes: false) })
    }

    /// Takes a proof; one that is not as ours are proves nothing.
    mutating func proof() throws(FrameError) -> CursorProof? { CursorProof(try text("proof")) }

    mutating func messageID(_ field: StaticString = "id") throws(FrameError) -> MessageID {
        MessageID(unsafe try value(field) { bytes in unsafe Bits128(digits: bytes, dashes: true) })
    }

    /// Takes a type; nil if it is empty, which is none.
    mutating func type(upTo length: Int) throws(FrameError) -> String? {
        let type = try text("type", upTo: length)
        return type.isEmpty ? nil : type
    }

    /// Takes the payload in the field `body`.
    mutating func json() throws(FrameError) -> Payload { .json(try raw()) }

    /// Takes the payload in the field `bin`.
    mutating func binary() throws(FrameError) -> Payload {
        .binary(unsafe try value("bin") { bytes in unsafe Base64.bytes(of: bytes) })
    }

    mutating func reference(kindUpTo length: Int) throws(FrameError) -> Reference {
        var (kind, seq): (String?, Int64?)
        let place = position
        var object = try object("about")
        while let key = try key(of: &object) {
            switch key {
            case "kind": kind = try text("kind", upTo: length)
            case "seq": seq = try number("seq", from: 1)
            default: try skip()
            }
        }
        guard let kind, let seq, !kind.isEmpty else { throw FrameError(.missing, field: "about", at: place) }
        return Reference(kind: kind, seq: seq)
    }

    mutating func numbers(_ field: StaticString, upTo count: Int) throws(FrameError) -> [Int64] {
        try list(field, upTo: count) { reader throws(FrameError) in try reader.number(field) }
    }

    mutating func list<Item>(
        _ field: StaticString, upTo count: Int = .max, _ item: (inout FrameReader) throws(FrameError) -> Item
    ) throws(FrameError) -> [Item] {
        var items: [Item] = []
        var array = try array(field)
        while try hasElement(of: &array) {
            guard items.count < count else { throw FrameError(.tooLong, field: field, at: position) }
            items.append(try item(&self))
        }
        return items
    }
}
