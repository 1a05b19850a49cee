import Testing
import WebSocketCore

/// RFC 7692 §7.1.
@Suite struct DeflateNegotiationTests {
    /// Parses the elements of a header value.
    func elements(_ text: String) throws -> [WebSocketExtension] {
        try WebSocketExtension.parse(["Sec-WebSocket-Extensions": text])
    }

    func answer(_ offers: String, _ preferences: DeflatePreferences = .init()) throws -> String? {
        preferences.answer(to: try elements(offers))?.answer.headerValue
    }

    /// The offers of RFC 7692 §7.1.3, and the answers it gives.
    @Test(arguments: [
        ("permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; client_max_window_bits; server_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=10"
        ),
        (
            "permessage-deflate; client_max_window_bits; server_max_window_bits=10, permessage-deflate; client_max_window_bits",
            "permessage-deflate; server_max_window_bits=10"
        ),
        ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
    ])
    func `the examples of RFC 7692 §7.1.3 are accepted`(offers: String, expected: String) throws {
        #expect(try answer(offers) == expected)
    }

    @Test func `a server without window limits accepts the second offer of RFC 7692 §7.1.3`() throws {
        let offer = try #require(DeflateOffer(try elements("permessage-deflate; client_max_window_bits")[0]))
        #expect(try offer.accept(try elements("permessage-deflate")[0]) == DeflateParameters())
    }

    @Test(arguments: [
        "permessage-deflate; x", "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=true",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; client_max_window_bits; client_max_window_bits=10",
        "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=010", "permessage-deflate; server_max_window_bits=+9",
        "permessage-deflate; server_max_window_bits=1e1", "permessage-deflate; server_max_window_bits=99999999999999999999",
        "permessage-deflate; client_max_window_bits=08", "permessage-deflate; client_max_window_bits=0",
        "permessage-deflate; Server_Max_Window_Bits=10", "Permessage-Deflate", "x-webkit-deflate-frame",
    ])
    func `a malformed offer is declined, and the next one is accepted`(offer: String) throws {
        #expect(try answer(offer) == nil)
        #expect(try answer("\(offer), permessage-deflate; server_no_context_takeover") == "permessage-deflate; server_no_context_takeover")
    }

    @Test(arguments: [
        ("permessage-deflate", "permessage-deflate; client_max_window_bits=10", "§7.1.2.2: not offered"),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits", "§7.1.2.2: no value"),
        ("permessage-deflate; server_no_context_takeover", "permessage-deflate", "§7.1.1.1: not granted"),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate", "§7.1.2.1: not granted"),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=11", "§7.1.2.1: too large"),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits", "§7.1.2.1: no value"),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=7", "§7.1.2.1: out of range"),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=09", "§7.1.2.1: leading zero"),
        ("permessage-deflate", "permessage-deflate; server_no_context_takeover=1", "§7.1.1.1: a value"),
        ("permessage-deflate", "permessage-deflate; x", "§7.1: unknown"),
        ("permessage-deflate", "permessage-deflate; client_no_context_takeover; client_no_context_takeover", "§7.1: repeated"),
        ("permessage-deflate", "permessage-foo", "another extension"),
    ])
    func `the client fails if the answer breaks a rule`(offer: String, answer: String, rule: String) throws {
        let offer = try #require(DeflateOffer(try elements(offer)[0]))
        let answer = try elements(answer)[0]
        #expect(HandshakeFixtures.failure { _ = try offer.accept(answer) }?.kind == .invalidExtension, Comment(rawValue: rule))
    }

    @Test(arguments: [
        ("permessage-deflate", "permessage-deflate; server_no_context_takeover", DeflateParameters(serverNoContextTakeover: true)),
        ("permessage-deflate", "permessage-deflate; client_no_context_takeover", DeflateParameters(clientNoContextTakeover: true)),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=\"8\"", DeflateParameters(serverMaxWindowBits: 8)),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=9", .init(serverMaxWindowBits: 9)),
        // §7.1.1.2 and §7.1.2.2: limits that the client set for itself hold with any answer.
        ("permessage-deflate; client_no_context_takeover", "permessage-deflate", DeflateParameters(clientNoContextTakeover: true)),
        ("permessage-deflate; client_max_window_bits=10", "permessage-deflate", DeflateParameters(clientMaxWindowBits: 10)),
        (
            "permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=12",
            DeflateParameters(clientMaxWindowBits: 10)
        ),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=15", DeflateParameters()),
    ])
    func `the client accepts a valid answer`(offer: String, answer: String, parameters: DeflateParameters) throws {
        let offer = try #require(DeflateOffer(try elements(offer)[0]))
        #expect(try offer.accept(try elements(answer)[0]) == parameters)
    }

    static let windows = [8, 9, 12, 15]
    static let preferences = [false, true].flatMap { serverNo in
        [false, true].flatMap { clientNo in
            windows.flatMap { server in
                windows.map { client in
                    DeflatePreferences(
                        serverNoContextTakeover: serverNo, clientNoContextTakeover: clientNo, serverMaxWindowBits: server,
                        clientMaxWindowBits: client)
                }
            }
        }
    }

    @Test(arguments: preferences)
    func `client and server agree on the stricter of their preferences, for all preferences`(client: DeflatePreferences) throws {
        let offer = client.offer
        for server in Self.preferences {
            let (parameters, answer) = try #require(server.answer(to: try elements(offer.headerValue)))
            #expect(try offer.accept(try elements(answer.headerValue)[0]) == parameters)
            #expect(
                parameters
                    == DeflateParameters(
                        serverNoContextTakeover: client.serverNoContextTakeover || server.serverNoContextTakeover,
                        clientNoContextTakeover: client.clientNoContextTakeover || server.clientNoContextTakeover,
                        serverMaxWindowBits: min(client.serverMaxWindowBits, server.serverMaxWindowBits),
                        clientMaxWindowBits: min(client.clientMaxWindowBits, server.clientMaxWindowBits)))
        }
    }

    @Test(arguments: [nil, 8, 10, 15], [nil, .anyValue, .bits(8), .bits(10), .bits(15)] as [DeflateOffer.ClientWindow?])
    func `every possible offer is answered by the rules, or declined`(
        serverWindow: Int?, clientWindow: DeflateOffer.ClientWindow?
    ) throws {
        for (serverNo, clientNo) in [(false, false), (false, true), (true, false), (true, true)] {
            let offer = DeflateOffer(
                serverNoContextTakeover: serverNo, clientNoContextTakeover: clientNo, serverMaxWindowBits: serverWindow,
                clientMaxWindowBits: clientWindow)
            #expect(DeflateOffer(try elements(offer.headerValue)[0]) == offer)
            for server in Self.preferences {
                guard let (parameters, answer) = server.answer(to: [offer.element]) else {
                    #expect(clientWindow == nil && server.clientMaxWindowBits < 15)
                    continue
                }
                #expect(try offer.accept(answer) == parameters)
                #expect(parameters.serverMaxWindowBits <= server.serverMaxWindowBits)
                #expect(parameters.clientMaxWindowBits <= server.clientMaxWindowBits)
            }
        }
    }

    @Test func `preferences are clamped to valid window sizes`() {
        var preferences = DeflatePreferences(serverMaxWindowBits: 1, clientMaxWindowBits: 99)
        #expect(preferences == DeflatePreferences(serverMaxWindowBits: 8, clientMaxWindowBits: 15))
        preferences.serverMaxWindowBits = .max
        preferences.clientMaxWindowBits = .min
        #expect(preferences == DeflatePreferences(serverMaxWindowBits: 15, clientMaxWindowBits: 8))
    }
}
