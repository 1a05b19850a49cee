import ArgumentParser
import Foundation
import Holdfast

/// Cookies in a file that only its owner may read, as JSON.
struct CookieFile: Sendable {
    let path: String

    /// A store with what is in the file, which follows what becomes of it.
    func store() throws -> CookieStore {
        CookieStore(CookieJar(try read())) { store in
            if !write(store.jar.cookies) { StandardOutput.warn("the cookies could not be kept in \(path.escapedOnOneLine)") }
        }
    }

    private func read() throws -> [Cookie] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            return try JSONDecoder().decode([Cookie].self, from: Data(contentsOf: URL(filePath: path)))
        } catch {
            throw ValidationError("--cookies: \(path.escapedOnOneLine) cannot be read, or is no list of cookies.")
        }
    }

    /// Beside the file first, so that it is whole or as it was; closed to others from its first moment on.
    private func write(_ cookies: [Cookie]) -> Bool {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let part = "\(path).\(UInt32.random(in: .min ... .max))"
        guard let bytes = try? encoder.encode(cookies) else { return false }
        let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        if (try? file.write(contentsOf: bytes)) != nil, (try? file.close()) != nil, rename(part, path) == 0 { return true }
        unlink(part)
        return false
    }
}
