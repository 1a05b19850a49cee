import Foundation
import WebSocketRuntime
import RoomsStorage

/// The point at which this process must end.
struct Crash: Sendable {
    let point: StorePoint
    let pass: Int
    let seed: UInt64
    /// The exit status of a planned crash.
    static let status: Int32 = 86

    /// Ends the process at the last pass of the point, without destructors, buffers or transactions.
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

/// A log of what was reported to others, one line each.
///
/// A line is written to the system when `add` returns, so it outlives the process.
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
