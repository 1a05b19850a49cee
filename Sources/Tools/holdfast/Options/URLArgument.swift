import ArgumentParser
import Holdfast

/// The URL to connect to.
enum URLArgument {
    /// Reads a URL; what is wrong with it becomes the parser's message.
    static func parse(_ text: String) throws -> WebSocketURL {
        do throws(URLProblem) { return try WebSocketURL(text) } catch { throw ValidationError(error.description) }
    }
}
