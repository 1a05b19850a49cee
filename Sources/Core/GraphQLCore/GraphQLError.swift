public import CodecCore

/// An error that a GraphQL server reports in its answer (GraphQL specification §7.1.2).
public struct GraphQLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A place in the document of the operation, counted from 1.
    public struct Location: Hashable, Sendable {
        /// The line.
        public let line: Int
        /// The column.
        public let column: Int

        /// Creates a location.
        public init(line: Int, column: Int) { (self.line, self.column) = (line, column) }
    }

    /// A step of the path to a field of the answer.
    public enum PathStep: Hashable, Sendable, CustomStringConvertible {
        /// A field.
        case field(String)
        /// The position in a list, counted from 0.
        case index(Int)

        /// The name of the field, or the position.
        public var description: String {
            switch self {
            case .field(let name): name
            case .index(let place): "\(place)"
            }
        }
    }

    /// The server's text for developers.
    public let message: String
    /// The path to the field that failed; empty if the error belongs to no field.
    public let path: [PathStep]
    /// The places in the document that the error is about.
    public let locations: [Location]
    /// More of the server about the error, such as `code`; empty if it says nothing.
    public let extensions: ValueMap

    /// Creates an error.
    public init(_ message: String, path: [PathStep] = [], locations: [Location] = [], extensions: ValueMap = [:]) {
        (self.message, self.path, self.locations, self.extensions) = (message, path, locations, extensions)
    }

    /// The server's code of the error in `extensions.code`, a convention of many servers; nil if there is none.
    public var code: String? { extensions[.text("code")]?.string }

    /// The message and the path.
    public var description: String {
        path.isEmpty ? message : "\(message) (at \(path.map(\.description).joined(separator: ".")))"
    }
}

extension GraphQLError {
    /// Reads an error as a server sends it; accepts any shape, because servers differ.
    package init(_ value: Value) {
        let locations = (value["locations"]?.items ?? []).compactMap { place -> Location? in
            guard let line = place["line"]?.int, let column = place["column"]?.int else { return nil }
            return Location(line: line, column: column)
        }
        let message = value["message"]?.string ?? value.string ?? "the server reports an error without a message"
        self.init(message, path: Self.path(value["path"]), locations: locations, extensions: value["extensions"]?.entries ?? [:])
    }

    /// Reads a path; leaves out steps that are neither a field nor a position.
    static func path(_ value: Value?) -> [PathStep] {
        (value?.items ?? []).compactMap { step in step.string.map { .field($0) } ?? step.int.map { .index($0) } }
    }

    /// Reads the errors of a message: a list, or a single one as the legacy protocol sends it.
    package static func all(in value: Value) -> [GraphQLError] {
        if let items = value.items { return items.map { GraphQLError($0) } }
        if let items = value["errors"]?.items { return items.map { GraphQLError($0) } }
        return value.isNull ? [] : [GraphQLError(value)]
    }
}
