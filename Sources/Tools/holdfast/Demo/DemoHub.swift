import Foundation
import HoldfastHub
import HoldfastRooms

/// A hub in its own process, `holdfast serve hub`, so that it can be killed without warning.
actor DemoHub {
    struct Failure: Error, CustomStringConvertible { let description: String }

    /// How long the hub may take until it listens.
    private static let patience = Duration.seconds(30)

    private let directory: String
    private var process: Process?
    /// The port of the hub, known after the first start.
    private(set) var port: Int?

    init(directory: String) { self.directory = directory }

    /// Starts the hub on its previous port, and returns when it listens.
    func start() async throws -> Int {
        let process = Process()
        process.executableURL = try Self.executable
        process.arguments = ["serve", "hub", "--dev", "--data", directory, "--port", "\(port ?? 0)"]
        let output = Pipe()
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, output, FileHandle.nullDevice)
        try process.run()
        self.process = process
        let line = await withTaskGroup(of: String?.self) { group in
            group.addTask { await Self.firstLine(of: output.fileHandleForReading) }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return nil
            }
            let line = await group.next() ?? nil
            if line == nil { kill() }  // The task that reads its output waits until it ends.
            group.cancelAll()
            return line
        }
        guard let url = line.flatMap(URL.init(string:)), let port = url.port else {
            kill()
            throw Failure(description: "the hub did not start: \(line ?? "it printed nothing")")
        }
        self.port = port
        return port
    }

    /// Ends the hub with SIGKILL: it can write nothing more, and clients are not told.
    func kill() {
        guard let process else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    /// Ends the hub with SIGTERM, as an operator would, and waits.
    func stop() async {
        guard let process else { return }
        process.terminate()
        for _ in 0..<300 where process.isRunning { try? await Task.sleep(for: .milliseconds(10)) }
        kill()
    }

    /// The path of this program.
    private static var executable: URL {
        get throws {
            let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            if FileManager.default.isExecutableFile(atPath: own.path), own.path != "/proc/self/exe" { return own }
            guard let url = Bundle.main.executableURL else { throw Failure(description: "the path of this program is unknown") }
            return url
        }
    }

    /// Returns the first line of the output; nil if the output ends without one.
    private static func firstLine(of file: FileHandle) async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var bytes: [UInt8] = []
                while let byte = try? file.read(upToCount: 1)?.first, byte != 0x0A { bytes.append(byte) }
                continuation.resume(returning: bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self))
            }
        }
    }
}

/// Reads the log of a hub that does not run.
enum HubLogFile {
    /// Returns all retained entries of a room, in order.
    static func entries(of room: RoomName, in directory: String) async throws -> [Entry] {
        var entries: [Entry] = []
        let log = try await SQLiteRoomLog(directory: directory)
        do {
            var pages = try await log.pages(of: room)
            while let page = try await pages.next() { entries += page }
            await log.close()
        } catch {
            await log.close()
            throw error
        }
        return entries
    }
}
