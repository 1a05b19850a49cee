import Foundation
import HoldfastHub
import HoldfastRooms
import RoomsStorage

/// The tests that `Interop/rooms/crash.sh` runs on the stores of rooms, on real files, in processes that are killed.
struct StoreCommands {
    static let usage = """
               HoldfastPeer store points
               HoldfastPeer store crash-hub|crash-client DIR --point P --pass N --seed N
               HoldfastPeer store full-hub|full-client DIR     (a small disk, with a file `ballast` on it)
               HoldfastPeer store read-only-hub|read-only-client DIR
               HoldfastPeer store written-hub DIR
               HoldfastPeer store damaged-hub DIR [--wanted kept|renewed]
               HoldfastPeer store figures DIR
        """
    let arguments: Arguments

    /// Returns the exit status, or nil if the words are none of these commands.
    func run() async -> Int32? {
        let words = arguments.words.dropFirst()
        switch (words.first, words.count) {
        case ("points", 1):
            for point in StorePoint.allCases { print(point.rawValue) }
            return 0
        case ("crash-hub", 2):
            guard let crash else { return nil }
            return await attempt { try await CrashHub(directory: words[2], crash: crash).run() }
        case ("crash-client", 2):
            guard let crash else { return nil }
            return await attempt { try await CrashClient(directory: words[2], crash: crash).run() }
        case ("full-hub", 2): return await attempt { try await FullDisk(directory: words[2]).hub() }
        case ("full-client", 2): return await attempt { try await FullDisk(directory: words[2]).client() }
        case ("read-only-hub", 2): return await attempt { try await FullDisk(directory: words[2]).readOnlyHub() }
        case ("read-only-client", 2): return await attempt { try await FullDisk(directory: words[2]).readOnlyClient() }
        case ("written-hub", 2): return await attempt { try await DamagedHub(directory: words[2]).write() }
        case ("damaged-hub", 2):
            return await attempt { try await DamagedHub(directory: words[2]).check(arguments.options["--wanted"]) }
        case ("figures", 2): return await attempt { try await StoreFigures(directory: words[2]).run() }
        default: return nil
        }
    }

    private var crash: Crash? {
        guard let point = arguments.options["--point"].flatMap({ StorePoint(rawValue: $0) }), let pass = arguments.number("--pass"),
            let seed = arguments.number("--seed")
        else { return nil }
        return Crash(point: point, pass: pass, seed: UInt64(seed))
    }

    private func attempt(_ body: () async throws -> Void) async -> Int32 {
        do {
            try await body()
            return 0
        } catch {
            print("error: \(error)")
            return 1
        }
    }
}

/// A problem that was found.
struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func demand(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !holds { throw Violation(otherwise()) }
}
