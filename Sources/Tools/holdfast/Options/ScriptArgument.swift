import ArgumentParser
import Foundation
import HoldfastTesting

/// A script of faults on the command line: the text itself, or `@file`.
enum ScriptArgument {
    /// A longer script is a mistake in the file's name.
    private static let limit = 1 << 20

    /// Reads a script; what is wrong with it becomes the parser's message.
    static func parse(_ argument: String) throws -> FaultScript {
        let text = argument.hasPrefix("@") ? try read(String(argument.dropFirst())) : argument
        do throws(FaultScriptError) {
            return try FaultScript(text)
        } catch {
            throw ValidationError(error.description.escapedOnOneLine)
        }
    }

    private static func read(_ path: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limit + 1) else {
            throw ValidationError("cannot read \(path.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
        guard data.count <= limit, let text = String(data: data, encoding: .utf8) else {
            throw ValidationError("\(path.escapedOnOneLine) is not a text of at most 1 MiB.")
        }
        return text
    }
}
