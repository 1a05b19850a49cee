import Foundation

/// The memory and descriptors of a process; zeros without `/proc`.
struct Footprint {
    /// The target of each descriptor, such as `socket:[4711]`.
    var targets: [String: String] = [:]
    var threads = 0
    var residentKiB = 0

    var descriptors: Int { targets.count }
    var sockets: Int { targets.values.count { $0.hasPrefix("socket:") } }

    /// Ending threads release their run loops later, so sockets are counted separately.
    func holdsMore(than before: Footprint) -> Bool { sockets > before.sockets || descriptors > before.descriptors }

    /// The descriptors that were opened since then.
    func opened(since before: Footprint) -> String {
        targets.filter { before.targets[$0.key] != $0.value }.map { "\($0.key) is \($0.value)" }.sorted().joined(separator: ", ")
    }

    /// The footprint of this process or another one of ours.
    static func of(_ process: String = "self") -> Footprint {
        var footprint = Footprint()
        for name in list("/proc/\(process)/fd") {
            // The listing itself used a descriptor that is now closed.
            footprint.targets[name] = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(name)")
        }
        footprint.threads = list("/proc/\(process)/task").count
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
            footprint.residentKiB = Int(line.filter(\.isNumber)) ?? 0
        }
        return footprint
    }

    /// Closed connections of this machine that still hold their ports.
    static var timeWaits: Int {
        let words = ((try? String(contentsOfFile: "/proc/net/sockstat", encoding: .utf8)) ?? "").split { $0.isWhitespace }
        return zip(words, words.dropFirst()).first { $0.0 == "tw" }.flatMap { Int($0.1) } ?? 0
    }

    private static func list(_ folder: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
}
