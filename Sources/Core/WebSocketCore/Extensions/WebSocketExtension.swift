/// One element of `Sec-WebSocket-Extensions`: a name and its parameters (RFC 6455 §9.1).
public struct WebSocketExtension: Hashable, Sendable {
    /// A parameter name with an optional value.
    ///
    /// Quotes are removed.
    public struct Parameter: Hashable, Sendable {
        /// The name, such as `client_max_window_bits`.
        public var name: String
        /// The value, a token; nil if there is none.
        public var value: String?

        /// Creates a parameter.
        public init(_ name: String, _ value: String? = nil) { (self.name, self.value) = (name, value) }
    }

    /// The name, such as `permessage-deflate`.
    public var name: String
    /// The parameters in order, including repeated ones.
    public var parameters: [Parameter]

    /// Creates an element.
    public init(_ name: String, _ parameters: [Parameter] = []) { (self.name, self.parameters) = (name, parameters) }

    /// The text of the header field: `name; parameter; parameter=value`.
    public var headerValue: String {
        ([name] + parameters.map { $0.name + ($0.value.map { "=" + $0 } ?? "") }).joined(separator: "; ")
    }

    /// Reads all elements of all `Sec-WebSocket-Extensions` lines.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidExtension`` if a line violates the grammar, as RFC 6455 §9.1 demands.
    public static func parse(_ headers: HeaderFields) throws(HandshakeFailure) -> [WebSocketExtension] {
        var elements: [WebSocketExtension] = []
        for line in headers.values("Sec-WebSocket-Extensions") {
            var scanner = Scanner(line)
            guard let found = scanner.elements() else {
                throw HandshakeFailure(.invalidExtension, "\(quoted(line)) is not a list of extensions")
            }
            elements += found
        }
        return elements
    }
}

extension WebSocketExtension {
    /// Scans a line once.
    ///
    /// Every function returns nil where the grammar is violated.
    fileprivate struct Scanner {
        private var rest: Substring.UTF8View

        init(_ line: String) { rest = line[...].utf8 }

        /// `#( token *( ";" parameter ) )`; empty elements are skipped (RFC 9110 §5.6.1.2).
        mutating func elements() -> [WebSocketExtension]? {
            var elements: [WebSocketExtension] = []
            repeat {
                skipBlanks()
                if rest.isEmpty || rest.first == UInt8(ascii: ",") { continue }
                guard let element = element() else { return nil }
                elements.append(element)
            } while take(",")
            return rest.isEmpty ? elements : nil
        }

        private mutating func element() -> WebSocketExtension? {
            guard let name = token() else { return nil }
            var element = WebSocketExtension(name)
            while take(";") {
                guard let name = token() else { return nil }
                guard take("=") else {
                    element.parameters.append(Parameter(name))
                    continue
                }
                guard let value = rest.first == UInt8(ascii: "\"") ? quotedToken() : token() else { return nil }
                element.parameters.append(Parameter(name, value))
            }
            return element
        }

        private mutating func token() -> String? {
            skipBlanks()
            let token = rest.prefix(while: HeaderSyntax.isTokenByte)
            rest = rest[token.endIndex...]
            skipBlanks()
            return token.isEmpty ? nil : String(Substring(token))
        }

        /// Reads a quoted string.
        ///
        /// RFC 6455 §9.1 requires a token after removing the quotes.
        private mutating func quotedToken() -> String? {
            rest.removeFirst()
            var value: [UInt8] = []
            while var byte = rest.popFirst() {
                if byte == UInt8(ascii: "\"") {
                    skipBlanks()
                    let text = String(decoding: value, as: UTF8.self)
                    return HeaderSyntax.isToken(text) ? text : nil
                }
                if byte == UInt8(ascii: "\\") {
                    guard let escaped = rest.popFirst() else { return nil }
                    byte = escaped
                }
                value.append(byte)
            }
            return nil
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            skipBlanks()
            return true
        }

        private mutating func skipBlanks() { rest = rest.drop(while: HeaderSyntax.isBlank) }
    }
}
