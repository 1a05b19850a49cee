public import Foundation

/// Reads and writes histories as lines of JSON.
public enum HistoryLines {
    /// The line of one event, with its line end.
    public static func line(of event: HistoryEvent) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // SAFETY: the fields are strings, whole numbers and lists of them, which always encode as JSON.
        guard var line = try? encoder.encode(event) else { preconditionFailure("an event is not JSON") }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Reads lines.
    ///
    /// A killed writer leaves half a line. The last line is ignored if it has no end, and an invalid line is ignored if the writer's
    /// next event is its start. Therefore a writer that continues an existing file begins with an empty line.
    ///
    /// - Throws: `DecodingError` for any other invalid line.
    public static func events(in data: Data) throws -> [HistoryEvent] {
        let decoder = JSONDecoder()
        var events: [HistoryEvent] = []
        var invalidLine: (any Error)?
        var rest = data[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Data(rest[..<end])
            rest = rest[rest.index(after: end)...]
            if line.isEmpty { continue }
            do {
                let event = try decoder.decode(HistoryEvent.self, from: line)
                if let invalidLine, ![.died, .started, .restored].contains(event.what) { throw invalidLine }
                invalidLine = nil
                events.append(event)
            } catch {
                if let invalidLine { throw invalidLine }
                invalidLine = error
            }
        }
        if let invalidLine { throw invalidLine }
        return events
    }
}
