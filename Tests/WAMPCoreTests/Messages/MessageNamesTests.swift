import CodecCore
import Testing
import WAMPCore

@Suite struct MessageNamesTests {
    private var names = MessageNames()

    private func words(_ message: WAMPMessage) -> String { message.words(names.wording(payloadLimit: 0)) }
    private mutating func send(_ messages: WAMPMessage...) { for message in messages { names.noteSent(message) } }
    private mutating func receive(_ messages: WAMPMessage...) { for message in messages { names.noteReceived(message) } }
    private func event(_ subscription: WAMPID) -> WAMPMessage { .event(subscription: subscription, publication: 1, details: [:], .none) }
    private func result(_ request: WAMPID) -> WAMPMessage { .result(request: request, details: [:], .none) }

    @Test mutating func `a subscription keeps the name of its request until it ends`() {
        send(.subscribe(request: 1, options: [:], topic: "com.chat"))
        receive(.subscribed(request: 1, subscription: 5))
        #expect(words(event(5)).contains("com.chat"))
        send(.unsubscribe(request: 2, subscription: 5))
        #expect(words(event(5)).contains("com.chat"))
        receive(.unsubscribed(request: 2, details: [:]))
        #expect(!words(event(5)).contains("com.chat"))
    }

    @Test mutating func `a revoked registration loses its name`() {
        let invocation = WAMPMessage.invocation(request: 9, registration: 6, details: [:], .none)
        send(.register(request: 1, options: [:], procedure: "com.add"))
        receive(.registered(request: 1, registration: 6))
        #expect(words(invocation).contains("com.add"))
        receive(.unregistered(request: 0, details: ["registration": 6]))
        #expect(!words(invocation).contains("com.add"))
    }

    @Test mutating func `an invocation through a pattern has the name of the called procedure`() {
        send(.register(request: 1, options: ["match": "prefix"], procedure: "com."))
        receive(.registered(request: 1, registration: 6))
        receive(.invocation(request: 9, registration: 6, details: ["procedure": "com.add"], .none))
        #expect(words(.interrupt(request: 9, options: [:])).contains("com.add"))
    }

    @Test mutating func `a call keeps its name until its result`() {
        send(.call(request: 7, options: [:], procedure: "com.add", .none))
        receive(.result(request: 7, details: ["progress": true], .none))
        #expect(words(result(7)).contains("com.add"))
        receive(result(7))
        #expect(!words(result(7)).contains("com.add"))
    }

    @Test mutating func `only the most recent cancelled calls keep their names`() {
        for id in 1...WAMPID(MessageNames.patience) + 1 {
            send(.call(request: id, options: [:], procedure: "com.add", .none), .cancel(request: id, options: [:]))
        }
        #expect(!words(result(1)).contains("com.add") && words(result(2)).contains("com.add"))
    }

    @Test mutating func `the number of remembered names is limited, and a new session clears them`() {
        for id in 1...WAMPID(MessageNames.capacity) + 1 { send(.call(request: id, options: [:], procedure: "com.add", .none)) }
        #expect(!words(result(WAMPID(MessageNames.capacity))).contains("com.add"))
        #expect(words(result(WAMPID(MessageNames.capacity) + 1)).contains("com.add"))
        send(.hello(realm: "r", details: [:]))
        #expect(!words(result(WAMPID(MessageNames.capacity) + 1)).contains("com.add"))
    }

    @Test mutating func `a refused request and an unacknowledged event leave no name`() {
        send(.publish(request: 1, options: [:], topic: "com.chat", .none), .call(request: 2, options: [:], procedure: "com.add", .none))
        let error = WAMPMessage.error(.call, request: 2, details: [:], uri: "com.no", .none)
        #expect(words(error).contains("com.add"))
        receive(error)
        #expect(!words(error).contains("com.add") && !words(.published(request: 1, publication: 3)).contains("com.chat"))
    }
}
