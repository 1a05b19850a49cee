import Foundation
import Logging

/// Keys in a file, read again when the file changes.
///
/// A file that can no longer be read, or holds nonsense, changes nothing: the keys that were there stay, and the log is told.
actor WatchedKeys: TokenKeySource {
    /// What of a file tells that it is another.
    private struct Version: Equatable {
        let modified: Date?
        let size: Int?
        let number: Int?

        init(_ path: String) {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            modified = attributes?[.modificationDate] as? Date
            size = attributes?[.size] as? Int
            number = attributes?[.systemFileNumber] as? Int
        }
    }
    private let path: String
    private let read: @Sendable ([UInt8]) async throws(HubError) -> [TokenKey]
    private let logger: Logger
    private var version: Version
    private var current: [TokenKey]

    /// Reads the keys for the first time.
    init(_ path: String, logger: Logger, read: @escaping @Sendable ([UInt8]) async throws(HubError) -> [TokenKey]) async throws(HubError) {
        (self.path, self.read, self.logger) = (path, read, logger)
        version = Version(path)
        current = try await Self.load(path, read)
    }

    var keys: [TokenKey] {
        get async {
            let version = Version(path)
            guard version != self.version else { return current }
            self.version = version
            do throws(HubError) {
                current = try await Self.load(path, read)
                logger.notice("keys read again", metadata: ["file": "\(path)", "keys": "\(current.count)"])
            } catch {
                logger.error("keys not read again, the old ones stay", metadata: ["file": "\(path)", "reason": "\(error)"])
            }
            return current
        }
    }

    private static func load(
        _ path: String, _ read: @Sendable ([UInt8]) async throws(HubError) -> [TokenKey]
    ) async throws(HubError) -> [TokenKey] {
        guard let data = FileManager.default.contents(atPath: path) else { throw HubError.key("cannot read \(path)") }
        return try await read([UInt8](data))
    }
}
