import Foundation

/// How much memory this process holds, in bytes; nil where the system does not say.
package func residentMemory() -> Int? {
    // A sanitizer keeps more than the program does: its figures say nothing.
    if getenv("HOLDFAST_SANITIZED") != nil { return nil }
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first
    return pages.flatMap { Int($0) }.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
}
