import Foundation
import RoomHistory

/// The file for the history of a client. Each event is written at once, because the client may be killed.
actor HistoryFile {
    private let file: FileHandle
    private let who: String

    /// Continues a file, or creates one.
    init(_ path: String, who: String) throws {
        if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        guard let file = FileHandle(forWritingAtPath: path) else { throw CocoaError(.fileWriteUnknown) }
        (self.file, self.who) = (file, who)
        try file.seekToEnd()
        // Ends a line that a kill has cut.
        try file.write(contentsOf: Data("\n".utf8))
    }

    func note(_ what: HistoryEvent.Kind, room: String? = nil, _ set: @Sendable (inout HistoryEvent) -> Void = { _ in }) {
        var event = HistoryEvent(what, who: who, at: Int64(Date().timeIntervalSince1970 * 1000), room: room)
        set(&event)
        do { try file.write(contentsOf: HistoryLines.line(of: event)) } catch { fatalError("cannot write the history: \(error)") }
    }
}
