import Foundation

/// The memory of this process in bytes; nil if the system does not report it.
package func residentMemory() -> Int? {
    // A sanitizer adds memory of its own, so the figures would be useless.
    if getenv("HOLDFAST_SANITIZED") != nil { return nil }
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first
    return pages.flatMap { Int($0) }.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
}
