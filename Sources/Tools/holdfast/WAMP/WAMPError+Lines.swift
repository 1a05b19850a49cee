import Holdfast
import HoldfastWAMP
import WAMPSigning

extension WAMPError {
    /// The lines that explain this error to a person; what a peer sent cannot drive the terminal.
    var lines: [String] {
        var lines = [description.escapedOnOneLine]
        if code == .refused || code == .dismissed, let list = try? arguments.list, let keywords = try? arguments.keywords {
            // A lone text stands in the description.
            if list.count > 1 || (list.count == 1 && list[0].string == nil) { lines.append(Value.array(list).jsonLine) }
            if !keywords.isEmpty { lines.append(Value.map(keywords).jsonLine) }
        }
        if case .noSuchFunction(let name)? = underlying as? SigningError, name.hasPrefix("argon2") {
            lines.append("This tool has no Argon2: have the router keep the password hashed by PBKDF2, or use another method.")
        }
        if let error = underlying as? WebSocketError { lines += error.lines.dropFirst() }
        return lines
    }
}
