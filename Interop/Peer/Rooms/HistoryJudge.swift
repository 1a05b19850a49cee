import Foundation
import RoomHistory

/// Checks the histories of a run.
enum HistoryJudge {
    /// Prints the findings.
    ///
    /// Returns false if an invariant was broken, or a file cannot be read.
    ///
    /// - Parameter least: The minimum counts of events, as `hub killed=12,…`.
    static func run(_ files: [String], least: String) -> Bool {
        let minimums = least.split(separator: ",").compactMap { part -> (String, Int64)? in
            let halves = part.split(separator: "=")
            guard halves.count == 2, let count = Int64(halves[1]) else { return nil }
            return (String(halves[0]), count)
        }
        var checker = HistoryChecker(minimums: Dictionary(minimums, uniquingKeysWith: max))
        do {
            for path in files {
                for event in try HistoryLines.events(in: Data(contentsOf: URL(fileURLWithPath: path))) { checker.note(event) }
            }
        } catch {
            print("cannot read: \(error)")
            return false
        }
        let verdict = checker.judged()
        print(verdict)
        return verdict.isClean
    }
}
