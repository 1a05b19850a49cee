// A Socket.IO client: `SocketIOEvents http://127.0.0.1:PORT`, with the server of Interop/socketio.
import HoldfastSocketIO

let url = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:9200"

// snippet.EVENTS
enum API {
    static let echo = Event<(String, Int)>("echo")
    static let echoed = Event<(String, Int)>("echoed")
    static let question = Event<(Question, [UInt8])>("question")
    static let add = Event<String>("add")
}

struct Question: Codable, Sendable { var n: Int }
// snippet.end

// snippet.CLIENT
let socket = SocketIOClient(url)
// snippet.end

// snippet.LISTEN
func follow() async throws {
    for try await event in socket.on(API.echoed) {
        switch event {
        case .event(let received): print(received.content.0, received.content.1)
        case .gap(let away): print("events may be missing: there was no session for \(away)")
        case .undecodable(let failure): print(failure)
        }
    }
}
// snippet.end

// snippet.EMIT
func greet() async throws {
    try await socket.emit(API.echo, "hi", 3)
}
// snippet.end

// snippet.ACK
func add(_ key: String) async {
    do throws(SocketIOFailure) {
        let number = try await socket.emit(API.add, key, ack: Int.self, within: .seconds(5))
        print("it is number \(number)")
    } catch {
        print(error.mayHaveArrived ? "the server may have added it: ask first" : "nothing was added: \(error)")
    }
}
// snippet.end

// snippet.RETRY
func addForSure(_ key: String) async throws -> Int {
    try await socket.emit(API.add, key, ack: Int.self, within: .seconds(5), retries: 10)
}
// snippet.end

// snippet.ANSWER
// No question is missed from here on.
let questions = socket.on(API.question)

func answer() async throws {
    for try await event in questions {
        guard case .event(let question) = event else { continue }
        try question.answer(question.content.0.n + 1, question.content.1)
        return
    }
}
// snippet.end

// snippet.UNTYPED
func ask() async throws {
    let answer = try await socket.request("ask", ["a", 1, .bytes([1, 2, 3])])
    print(answer.count)
}
// snippet.end

// snippet.NETWORKS
func reachable(_ url: String) -> SocketIOClient {
    var options = SocketIOOptions()
    options.transport = .pollingThenWebSocket
    return SocketIOClient(url, options: options)
}
// snippet.end

// snippet.NAMESPACE
let chat = socket.namespace("/chat") { ["token": "good"] }
// snippet.end

// snippet.STATE
func watch() async {
    for await state in chat.states {
        switch state {
        case .connected(let isRecovered): print(isRecovered ? "nothing was missed" : "connected")
        case .refused(let refusal, let isFinal):
            print("refused: \(refusal.message), \(refusal.data), \(isFinal ? "for good" : "asks again")")
        case .disconnected(let byServer): print(byServer ? "the server has left the namespace" : "left")
        case .waiting(let error): print("no connection: \(error)")
        case .connecting, .closed: print("not connected")
        }
    }
}
// snippet.end

async let following: Void = follow()
async let watching: Void = watch()
try await chat.ready(within: .seconds(10))
try await greet()
await add("snippet")
print("number", try await addForSure("again"))
try await ask()
try await socket.emit("question-me")
try await answer()
let polling = reachable(url)
print("over polling", try await polling.request("ask", ["hi"]).count)
await polling.close()
await socket.close()
try await following
await watching
print("closed")
