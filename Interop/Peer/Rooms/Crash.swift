import Foundation
import WebSocketRuntime
import RoomsStorage

/// Where this process is to die.
struct Crash: Sendable {
    let point: StorePoint
    let pass: Int
    let seed: UInt64
    /// The status by which its end is known.
    static let status: Int32 = 86

    /// Ends the process when the point is passed for the last time; no destructor, no buffer, no transaction comes after.
    var hook: StoreHook {
        let (point, passes) = (point, LockedValue(pass))
        return { passed in
            guard passed == point,
                passes.withLockedValue({ left in
                    left -= 1; return left == 0
                })
            else { return }
            _exit(Self.status)
        }
    }
}

/// What was told to somebody, line by line; a line is with the system when `add` returns, and so outlives the process.
final class CrashJournal {
    private let handle: FileHandle
    let lines: [[String]]

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        guard let handle = FileHandle(forUpdatingAtPath: path) else { throw Violation("cannot write \(path)") }
        self.handle = handle
        try handle.seekToEnd()
    }

    func add(_ words: Any...) throws {
        try handle.write(contentsOf: Data((words.map { "\($0)" }.joined(separator: " ") + "\n").utf8))
    }
}
