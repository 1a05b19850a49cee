import Foundation

/// What a process holds of the system; zeros where there is no `/proc`.
struct Footprint {
    /// What each descriptor leads to, such as `socket:[4711]`.
    var targets: [String: String] = [:]
    var threads = 0
    var residentKiB = 0

    var descriptors: Int { targets.count }
    var sockets: Int { targets.values.count { $0.hasPrefix("socket:") } }

    /// Threads that end give their run loops back, so sockets are counted on their own.
    func holdsMore(than before: Footprint) -> Bool { sockets > before.sockets || descriptors > before.descriptors }

    /// What is open now and was not before.
    func opened(since before: Footprint) -> String {
        targets.filter { before.targets[$0.key] != $0.value }.map { "\($0.key) is \($0.value)" }.sorted().joined(separator: ", ")
    }

    /// This process, or another one of ours.
    static func of(_ process: String = "self") -> Footprint {
        var footprint = Footprint()
        for name in list("/proc/\(process)/fd") {
            // The listing was a descriptor, too, and is gone.
            footprint.targets[name] = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(name)")
        }
        footprint.threads = list("/proc/\(process)/task").count
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
            footprint.residentKiB = Int(line.filter(\.isNumber)) ?? 0
        }
        return footprint
    }

    /// Connections of this machine that are over and still keep their ports.
    static var timeWaits: Int {
        let words = ((try? String(contentsOfFile: "/proc/net/sockstat", encoding: .utf8)) ?? "").split { $0.isWhitespace }
        return zip(words, words.dropFirst()).first { $0.0 == "tw" }.flatMap { Int($0.1) } ?? 0
    }

    private static func list(_ folder: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
}
