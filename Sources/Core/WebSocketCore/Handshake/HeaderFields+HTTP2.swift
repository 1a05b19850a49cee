extension HeaderFields {
    /// Those that may stand in HTTP/2, as they are written there (RFC 9113 §8.2): in lower case, without what concerns one connection.
    var forHTTP2: HeaderFields {
        let named = tokens("Connection").map { HeaderSyntax.lowercased($0) }
        var fields = HeaderFields()
        for field in self {
            let name = HeaderSyntax.lowercased(field.name)
            guard !Self.connectionFields.contains(name), !named.contains(name), name != "te" || field.value == "trailers" else { continue }
            fields.add(name, field.value)
        }
        return fields
    }

    private static let connectionFields: Set = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
}

extension RequestHead {
    /// Reads the fields of a HEADERS frame that begins a request (RFC 9113 §8.3.1, RFC 8441 §4).
    ///
    /// Throws ``HandshakeFailure/Kind/malformedHead`` if what a request needs is missing, or there twice.
    public init(http2 fields: HeaderFields) throws(HandshakeFailure) {
        let method = try fields.pseudoField(":method")
        let (authority, path) = (try fields.pseudoField(":authority"), try fields.pseudoField(":path"))
        guard let method, HeaderSyntax.isToken(method) else { throw HandshakeFailure(.malformedHead, "there is no :method") }
        guard let target = path ?? authority, HeaderSyntax.isVisible(target) else {
            throw HandshakeFailure(.malformedHead, "there is no :path that could be one")
        }
        self.init(method: method, target: target, minorVersion: 0)
        majorVersion = 2
        tunnelProtocol = try fields.pseudoField(":protocol")
        for field in fields where !field.name.hasPrefix(":") { headers.add(field) }
        if let authority { headers["Host"] = authority }
    }
}

extension ResponseHead {
    /// Reads the fields of a HEADERS frame that begins a response (RFC 9113 §8.3.2).
    ///
    /// Throws ``HandshakeFailure/Kind/malformedHead`` without a status.
    public init(http2 fields: HeaderFields) throws(HandshakeFailure) {
        guard let text = try fields.pseudoField(":status"), text.utf8.count == 3, HeaderSyntax.isDecimal(text), let status = Int(text),
            status >= 100
        else {
            throw HandshakeFailure(.malformedHead, "there is no :status that could be one")
        }
        self.init(status: status, minorVersion: 0)
        majorVersion = 2
        for field in fields where !field.name.hasPrefix(":") { headers.add(field) }
    }

    /// What says the same in a HEADERS frame; without what HTTP/2 does not have.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidHeader`` if a part would break out of its place.
    public func http2Fields() throws(HandshakeFailure) -> HeaderFields {
        guard 100...999 ~= status, status != 101 else { throw HandshakeFailure(.invalidHeader, "HTTP/2 has no status \(status)") }
        let rest = headers.forHTTP2
        try rest.check()
        // 426 asks for an upgrade, which HTTP/2 does not have.
        var fields: HeaderFields = [":status": "\(status == 426 ? 400 : status)"]
        for field in rest { fields.add(field) }
        return fields
    }
}

extension HeaderFields {
    fileprivate func pseudoField(_ name: String) throws(HandshakeFailure) -> String? {
        let values = values(name)
        guard values.count <= 1 else { throw HandshakeFailure(.malformedHead, "\(name) is there twice") }
        return values.first
    }
}
