import WebSocketCore

extension FuzzTarget {
    static func extensions(_ input: inout FuzzInput) throws {
        let preferences = preferences(&input)
        let headers: HeaderFields = ["Sec-WebSocket-Extensions": input.text]
        guard let elements = try? WebSocketExtension.parse(headers) else { return }
        let written: HeaderFields = ["sec-websocket-extensions": elements.map(\.headerValue).joined(separator: ", ")]
        try expectEqual(try WebSocketExtension.parse(written), elements, "elements are not written as they were read")

        for offer in elements.compactMap({ DeflateOffer($0) }) {
            try expectEqual(DeflateOffer(offer.element), offer, "an offer is not written as it was read")
            guard let (parameters, answer) = preferences.answer(to: [offer.element]) else { continue }
            try expectEqual(try offer.accept(answer), parameters, "both sides read the answer differently")
            try expect(8...preferences.serverMaxWindowBits ~= parameters.serverMaxWindowBits, "the server's window: \(parameters)")
            try expect(8...preferences.clientMaxWindowBits ~= parameters.clientMaxWindowBits, "the client's window: \(parameters)")
        }
        // As answers to the offer of a client with these preferences.
        for element in elements { _ = try? preferences.offer.accept(element) }
    }

    static func url(_ input: inout FuzzInput) throws {
        guard let url = try? WebSocketURL(input.text) else { return }
        try expect(!url.host.isEmpty && 1...65_535 ~= url.port && url.target.hasPrefix("/"), "\(url.host) \(url.port) \(url.target)")
        try expectEqual(try WebSocketURL(url.string), url, "a URL is not written as it was read")
        try expect(!url.description.dropLast(2).contains("?"), "the query is in the description: \(url)")
        try expect(url.string.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "an invalid character in the URL")
    }
}
