public import Foundation

/// Histories as lines of JSON.
public enum HistoryLines {
    /// One line, with its end.
    public static func line(of event: HistoryEvent) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // SAFETY: strings, whole numbers and lists of them, always JSON.
        guard var line = try? encoder.encode(event) else { preconditionFailure("an event is not JSON") }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Reads lines.
    ///
    /// A writer that is killed leaves half a line: the last one is passed over if it has no end, and one that makes no sense if the program's
    /// next words are that it was started. So a writer that starts on a file it has begins with an empty line.
    ///
    /// - Throws: `DecodingError` for any other line that is no event.
    public static func events(in data: Data) throws -> [HistoryEvent] {
        let decoder = JSONDecoder()
        var events: [HistoryEvent] = []
        var torn: (any Error)?
        var rest = data[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Data(rest[..<end])
            rest = rest[rest.index(after: end)...]
            if line.isEmpty { continue }
            do {
                let event = try decoder.decode(HistoryEvent.self, from: line)
                if let torn, ![.died, .started, .restored].contains(event.what) { throw torn }
                torn = nil
                events.append(event)
            } catch {
                if let torn { throw torn }
                torn = error
            }
        }
        if let torn { throw torn }
        return events
    }
}
