import Foundation
import RoomHistory

/// Where a client writes down what happens to it: a line at once, for the next moment may be the last.
actor HistoryFile {
    private let file: FileHandle
    private let who: String

    /// Goes on with a file, or begins one.
    init(_ path: String, who: String) throws {
        if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        guard let file = FileHandle(forWritingAtPath: path) else { throw CocoaError(.fileWriteUnknown) }
        (self.file, self.who) = (file, who)
        try file.seekToEnd()
        // A line that a kill has torn ends here.
        try file.write(contentsOf: Data("\n".utf8))
    }

    func note(_ what: HistoryEvent.Kind, room: String? = nil, _ set: @Sendable (inout HistoryEvent) -> Void = { _ in }) {
        var event = HistoryEvent(what, who: who, at: Int64(Date().timeIntervalSince1970 * 1000), room: room)
        set(&event)
        do { try file.write(contentsOf: HistoryLines.line(of: event)) } catch { fatalError("cannot write the history: \(error)") }
    }
}
