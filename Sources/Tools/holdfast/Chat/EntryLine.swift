import CodecCore
import HoldfastRooms
import MachineCore
import RoomCore

/// An entry as a line of JSON, for programs.
enum EntryLine {
    /// One line, without its end; the payload as it is, on the line.
    static func json(_ entry: Entry, room: RoomName) -> String {
        var fields = [
            ("room", named(room.text)), ("seq", String(entry.seq)), ("id", quoted("\(entry.id)")), ("user", named(entry.user.text)),
            ("at", String(entry.at)), ("sent", String(entry.sent)), ("device", quoted("\(entry.device)")), ("cseq", String(entry.cseq)),
            ("type", quoted(entry.type)),
        ]
        if let about = entry.about { fields.append(("about", #"{"kind":\#(quoted(about.kind)),"seq":\#(about.seq)}"#)) }
        fields.append(body(entry.payload))
        return object(fields)
    }

    /// What became of a message that was sent.
    static func json(stored id: MessageID, at position: LogPosition, in room: String) -> String {
        object([
            ("room", quoted(room)), ("id", quoted("\(id)")), ("stored", "true"), ("seq", String(position.seq)),
            ("epoch", quoted(Hexadecimal.digits(position.epoch))),
        ])
    }

    /// That a message was not stored, and why.
    static func json(failed id: MessageID?, in room: String, _ error: RoomsError) -> String {
        object(
            [("room", quoted(room))] + (id.map { [("id", quoted("\($0)"))] } ?? [])
                + [("stored", "false"), ("retry", error.isRetryable ? "true" : "false"), ("error", quoted("\(error)"))])
    }

    /// That what came before is to be forgotten.
    static func json(replaced position: LogPosition, in room: RoomName) -> String {
        object([("room", quoted(room.text)), ("replaced", "true"), ("seq", String(position.seq))])
    }

    /// A message in the outbox of a store, and whether it waits or has failed.
    static func json(outbox row: OutboxRow) -> String {
        let failure: OutboxFailure? =
            switch row.state {
            case .queued: nil
            case .burning(let failure), .failed(let failure): failure
            }
        var fields = [
            ("room", quoted(row.room.text)), ("id", quoted("\(row.publication.id)")), ("sent", String(row.publication.sent)),
            ("state", failure == nil ? "\"waiting\"" : "\"failed\""),
        ]
        if let failure { fields += [("code", String(failure.code.rawValue)), ("error", quoted(failure.text))] }
        if let content = row.publication.content { fields += [("type", quoted(content.type)), body(content.payload)] }
        return object(fields)
    }

    /// For people: who, and what; nil of what only changes others.
    static func text(_ entry: Entry) -> String? {
        let words: String? =
            if let text = entry.content(ChatText.self) { text.text } else if entry.type.hasPrefix("holdfast.") { nil } else {
                "(\(entry.type), \(entry.payload.bytes.count.counted("byte")))"
            }
        return words.map { entry.user.text.escapedAsName + ": " + $0.escapedForTerminal() }
    }

    /// One line, and nothing in it that could drive a terminal: what others wrote stands in it.
    private static func object(_ fields: [(String, String)]) -> String {
        ("{" + fields.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}").escapedWithinJSON
    }

    private static func body(_ payload: RoomCore.Payload) -> (String, String) {
        switch payload {
        case .json(let bytes): ("body", String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): ("bin", quoted(Base64.text(bytes)))
        }
    }

    /// A name as a string of JSON, with what nobody would see written as `\u200B`.
    private static func named(_ text: String) -> String {
        quoted(text).unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.isHidden { result += scalar.escapedInJSON } else { result.unicodeScalars.append(scalar) }
        }
    }

    /// A string of JSON.
    private static func quoted(_ text: String) -> String { text.inJSON }
}
