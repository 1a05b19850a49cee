import CodecCore
import Foundation
import GraphQLCore

/// A GraphQL operation with the types of its variables and its data.
///
/// ```swift
/// struct Ticks: Decodable { var tick: Tick }
/// let ticks = GraphQLOperation("subscription($s: String!) { tick(symbol: $s) { price } }", variables: ["s": "AAPL"], data: Ticks.self)
/// ```
/// With `Value` as both types, an operation needs no types of your own.
public struct GraphQLOperation<Variables: Encodable & Sendable, Content: Decodable & Sendable>: Sendable {
    /// The GraphQL document; empty if the server knows it by ``extensions``, as for persisted queries.
    public var document: String
    /// The name of the operation, if the document has several.
    public var name: String?
    /// The values of the variables; a value that encodes as null is not sent.
    public var variables: Variables
    /// More for the server, such as `persistedQuery`.
    public var extensions: ValueMap

    /// Creates an operation.
    ///
    /// - Parameters:
    ///   - document: The GraphQL document, which may have fragments.
    ///   - name: The name of the operation, if the document has several.
    ///   - variables: The values of the variables.
    ///   - data: The type of the data.
    ///   - extensions: More for the server.
    public init(_ document: String, name: String? = nil, variables: Variables, data: Content.Type, extensions: ValueMap = [:]) {
        (self.document, self.name, self.variables, self.extensions) = (document, name, variables, extensions)
    }

    /// Returns the payload of the operation's message.
    func payload(_ encoder: JSONEncoder, variables: Variables? = nil) throws(GraphQLFailure) -> [UInt8] {
        do {
            let values = variables ?? self.variables
            let json = if let value = values as? Value { try value.json() } else { [UInt8](try encoder.encode(values)) }
            var writer = JSONWriter(capacity: document.utf8.count + json.count + 64)
            writer.open(UInt8(ascii: "{"))
            if !document.isEmpty {
                writer.key("query")
                writer.text(document)
            }
            if let name {
                writer.key("operationName")
                writer.text(name)
            }
            if json != Array("null".utf8) {
                writer.key("variables")
                writer.raw(json)
            }
            if !extensions.isEmpty {
                writer.key("extensions")
                writer.raw(try Value.map(extensions).json())
            }
            writer.close(UInt8(ascii: "}"))
            return writer.finish()
        } catch {
            throw GraphQLFailure(.unencodable, detail: "the variables cannot be encoded", underlying: error)
        }
    }
}

extension GraphQLOperation where Variables == Value {
    /// Creates an operation whose variables are dynamic values; by default it has none.
    public init(_ document: String, name: String? = nil, variables: Value = nil, data: Content.Type) {
        self.init(document, name: name, variables: variables, data: data, extensions: [:])
    }
}

extension GraphQLOperation where Variables == Value, Content == Value {
    /// Creates an operation without types.
    public init(_ document: String, name: String? = nil, variables: Value = nil) {
        self.init(document, name: name, variables: variables, data: Value.self, extensions: [:])
    }
}

/// An answer of a server: data, errors, or both.
public struct GraphQLResponse<Content> {
    /// The data; nil if it is null because of an error.
    public let data: Content?
    /// The errors; if there are any, fields of ``data`` may be null.
    public let errors: [GraphQLError]
    /// More of the server about the answer; empty if it says nothing.
    public let extensions: ValueMap

    /// Returns the data if there are no errors.
    ///
    /// - Throws: ``GraphQLFailure`` with the code `refused` and the errors.
    public func complete() throws(GraphQLFailure) -> Content {
        guard let data, errors.isEmpty else { throw GraphQLFailure(.refused, errors: errors, mayHaveArrived: true) }
        return data
    }
}

extension GraphQLResponse: Sendable where Content: Sendable {}

/// An element of a subscription.
public enum GraphQLEvent<Content> {
    /// An event: data, errors of fields, or both.
    case response(GraphQLResponse<Content>)
    /// Events may be missing here, because the connection was lost for this long.
    ///
    /// The subscription stands again. Query what you may have missed.
    case gap(Duration)
    /// An event whose data is not of the expected type, with the error. The subscription goes on.
    case undecodable(GraphQLFailure)

    /// The data of an event; nil for anything else.
    public var data: Content? { if case .response(let response) = self { response.data } else { nil } }
    /// Whether it says that events may be missing.
    public var isGap: Bool { if case .gap = self { true } else { false } }
}

extension GraphQLEvent: Sendable where Content: Sendable {}
