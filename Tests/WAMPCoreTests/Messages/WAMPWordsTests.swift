import CodecCore
import Testing
import WAMPCore

@Suite struct WAMPWordsTests {
    @Test(arguments: [
        (
            WAMPMessage.call(request: 7, options: ["timeout": 5000], procedure: "com.app.add2", WAMPArguments([23, 7])),
            "CALL #7 com.app.add2 (2 args, timeout 5 s)"
        ),
        (
            .call(request: 7, options: ["timeout": 1500, "receive_progress": true], procedure: "a", .none),
            "CALL #7 a (0 args, timeout 1500 ms, progress)"
        ),
        (.event(subscription: 5, publication: 5_862_354, details: [:], WAMPArguments(["hi"])), "EVENT com.app.chat #5862354 (1 arg)"),
        (
            .event(subscription: 6, publication: 5_862_354, details: ["topic": "a.b"], .none),
            "EVENT of subscription 6 #5862354 (0 args, a.b)"
        ),
        (
            .error(.call, request: 7, details: [:], uri: "wamp.error.no_such_procedure", .none),
            "ERROR #7 wamp.error.no_such_procedure (of CALL com.app.add2)"
        ),
        (.error(.invocation, request: 9, details: [:], uri: "a.b", WAMPArguments([1])), "ERROR #9 a.b (of INVOCATION, 1 arg)"),
        (
            .publish(request: 1, options: ["acknowledge": true, "exclude_me": false], topic: "a", WAMPArguments(keywords: ["x": 1])),
            "PUBLISH #1 a (0 args, 1 keyword, acknowledged, also to me)"
        ),
        (.published(request: 1, publication: 3), "PUBLISHED #1 as #3"),
        (.subscribe(request: 2, options: ["match": "prefix"], topic: "com.app."), "SUBSCRIBE #2 com.app. (prefix)"),
        (.subscribed(request: 2, subscription: 5), "SUBSCRIBED #2 as subscription 5"),
        (.unsubscribe(request: 3, subscription: 5), "UNSUBSCRIBE #3 com.app.chat"),
        (.unsubscribed(request: 3, details: [:]), "UNSUBSCRIBED #3"),
        (
            .unsubscribed(request: 0, details: ["subscription": 5, "reason": "wamp.error.x"]),
            "UNSUBSCRIBED by the router (com.app.chat, wamp.error.x)"
        ),
        (.cancel(request: 7, options: ["mode": "killnowait"]), "CANCEL #7 com.app.add2 (killnowait)"),
        (.result(request: 7, details: ["progress": true], WAMPArguments([1])), "RESULT #7 com.app.add2 (1 arg, progress)"),
        (.register(request: 4, options: ["invoke": "roundrobin"], procedure: "a.b"), "REGISTER #4 a.b (roundrobin)"),
        (.registered(request: 4, registration: 8), "REGISTERED #4 as registration 8"),
        (.unregister(request: 4, registration: 8), "UNREGISTER #4 of registration 8"),
        (.unregistered(request: 0, details: ["registration": 8]), "UNREGISTERED by the router (registration 8)"),
        (.invocation(request: 1, registration: 9, details: [:], .none), "INVOCATION #1 com.app.mine (0 args)"),
        (.interrupt(request: 1, options: ["mode": "kill"]), "INTERRUPT #1 (kill)"),
        (.yield(request: 1, options: [:], WAMPArguments([1, 2])), "YIELD #1 (2 args)"),
        (
            .hello(realm: "realm1", details: ["authid": "joe", "authmethods": ["ticket", "wampcra"]]),
            "HELLO realm1 (as joe, by ticket or wampcra)"
        ),
        (
            .welcome(session: 11, details: ["authid": "joe", "authrole": "user", "authmethod": "ticket"]),
            "WELCOME to session 11 (as joe, role user, by ticket)"
        ),
        (
            .abort(details: ["message": "no\nway"], reason: "wamp.error.no_such_realm", .none),
            "ABORT wamp.error.no_such_realm (\"no\\nway\")"
        ),
        (.goodbye(details: [:], reason: "wamp.close.normal", .none), "GOODBYE wamp.close.normal"),
    ])
    func `a message has a short description`(message: WAMPMessage, words: String) {
        let wording = WAMPWording(
            topic: { $0 == 5 ? "com.app.chat" : nil }, procedure: { $0 == 9 ? "com.app.mine" : nil },
            request: { $0 == .call && $1 == 7 ? "com.app.add2" : nil })
        #expect(message.words(wording) == words)
    }

    @Test func `a payload is shown only on request, up to a limit`() {
        let call = WAMPMessage.call(request: 7, options: [:], procedure: "a", WAMPArguments(["secret", 1], keywords: ["key": "word"]))
        #expect("\(call)" == "CALL #7 a (2 args, 1 keyword)")
        #expect(call.words(WAMPWording(payloadLimit: 100)) == #"CALL #7 a (2 args, 1 keyword) ["secret", 1] {"key": "word"}"#)
        #expect(call.words(WAMPWording(payloadLimit: 4)) == #"CALL #7 a (2 args, 1 keyword) ["se…"#)
    }

    @Test func `secrets of authentication are never shown`() {
        let secret = "s3cr3t"
        let messages: [WAMPMessage] = [
            .authenticate(signature: secret, extra: ["nonce": .text(secret)]),
            .challenge(method: "wampcra", extra: ["challenge": .text(secret)]),
            .hello(realm: "a", details: ["authextra": ["pubkey": .text(secret)]]),
            .welcome(session: 1, details: ["authextra": ["v": .text(secret)]]),
        ]
        for message in messages {
            #expect(!message.words(WAMPWording(payloadLimit: 1000)).contains(secret))
            #expect(!"\(message)".contains(secret))
            #expect(!String(reflecting: message).contains(secret))
            #expect(!"\([message])".contains(secret))
        }
        #expect("\(messages[0])" == "AUTHENTICATE (redacted)")
    }

    @Test func `the URI of a peer cannot forge a line in a log`() {
        let message = WAMPMessage.error(.call, request: 1, details: [:], uri: "a\n→ CALL \u{1B}[31m", .none)
        #expect(message.words() == #"ERROR #1 "a\n→ CALL \u{1B}[31m" (of CALL)"#)
        let long = WAMPMessage.register(request: 1, options: [:], procedure: String(repeating: "a", count: 500))
        #expect(long.words() == "REGISTER #1 " + String(repeating: "a", count: 200) + "…")
    }
}
