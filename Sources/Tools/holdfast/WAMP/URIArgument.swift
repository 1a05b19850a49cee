import ArgumentParser
import WAMPCore

/// The URI of a topic or a procedure on the command line.
enum URIArgument {
    /// Says what is wrong with a URI that nobody could take.
    static func check(_ uri: String, match: WAMPMatch = .exact) throws {
        guard WAMPURI.isValid(uri, match) else {
            throw ValidationError(
                "\"\(uri.escapedOnOneLine)\" is no URI of WAMP: use components that are joined by dots, without spaces and #"
                    + (match == .exact ? ", none of them empty." : "."))
        }
    }
}
