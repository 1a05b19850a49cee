import CodecCore
import HoldfastRooms
import HoldfastTerminal
import MachineCore
import RoomCore

/// Formats entries as lines of JSON, for programs.
enum EntryLine {
    /// Returns the entry as one line, without a line break; the payload is unchanged except that it is on one line.
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

    /// Returns a line which reports that a message was stored.
    static func json(stored id: MessageID, at position: LogPosition, in room: String) -> String {
        object([
            ("room", quoted(room)), ("id", quoted("\(id)")), ("stored", "true"), ("seq", String(position.seq)),
            ("epoch", quoted(Hexadecimal.digits(position.epoch))),
        ])
    }

    /// Returns a line which reports that a message was not stored, and why.
    static func json(failed id: MessageID?, in room: String, _ error: RoomsError) -> String {
        object(
            [("room", quoted(room))] + (id.map { [("id", quoted("\($0)"))] } ?? [])
                + [("stored", "false"), ("retry", error.isRetryable ? "true" : "false"), ("error", quoted("\(error)"))])
    }

    /// Returns a line which reports that the previous entries are no longer valid.
    static func json(replaced position: LogPosition, in room: RoomName) -> String {
        object([("room", quoted(room.text)), ("replaced", "true"), ("seq", String(position.seq))])
    }

    /// Returns a line for a message in the outbox of a store, with whether it waits or has failed.
    static func json(outbox row: OutboxRow) -> String {
        let failure: OutboxFailure? =
            switch row.state {
            case .queued: nil
            case .voiding(let failure), .failed(let failure): failure
            }
        var fields = [
            ("room", quoted(row.room.text)), ("id", quoted("\(row.publication.id)")), ("sent", String(row.publication.sent)),
            ("state", failure == nil ? "\"waiting\"" : "\"failed\""),
        ]
        if let failure { fields += [("code", String(failure.code.rawValue)), ("error", quoted(failure.text))] }
        if let content = row.publication.content { fields += [("type", quoted(content.type)), body(content.payload)] }
        return object(fields)
    }

    /// Returns the entry as text for people: the user and the message; nil for an entry that only changes others.
    static func text(_ entry: Entry) -> String? {
        let words: String? =
            if let text = entry.content(ChatText.self) { text.text } else if entry.type.hasPrefix("holdfast.") { nil } else {
                "(\(entry.type), \(entry.payload.bytes.count.counted("byte")))"
            }
        return words.map { entry.user.text.escapedAsName + ": " + $0.escapedForTerminal() }
    }

    /// Returns one line without control sequences, because it contains text from other users.
    private static func object(_ fields: [(String, String)]) -> String {
        ("{" + fields.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}").escapedWithinJSON
    }

    private static func body(_ payload: RoomCore.Payload) -> (String, String) {
        switch payload {
        case .json(let bytes): ("body", String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): ("bin", quoted(Base64.text(bytes)))
        }
    }

    /// Returns a name as a JSON string, with invisible characters escaped, such as `\u200B`.
    private static func named(_ text: String) -> String {
        quoted(text).unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.isHidden { result += scalar.escapedInJSON } else { result.unicodeScalars.append(scalar) }
        }
    }

    /// Returns a text as a JSON string.
    private static func quoted(_ text: String) -> String { text.inJSON }
}
