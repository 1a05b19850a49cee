// The first call, and others. Start `holdfast serve wamp`, then run this.
import Dispatch
import HoldfastWAMP

// snippet.API
enum API {
    static let add = Procedure<(Int, Int), Int>("com.example.add")
    static let news = Topic<String>("com.example.news")
}
// snippet.end

// snippet.hide
let callee = WAMPClient("ws://127.0.0.1:9001/", realm: "realm1")
let offered = try await callee.register(API.add) { input, _ in input.0 + input.1 }
// snippet.show

// snippet.CALL
let client = WAMPClient("ws://127.0.0.1:9001/", realm: "realm1")
print(try await client.call(API.add, 23, 7))
// snippet.end

// snippet.IMPATIENT
let options = CallOptions(timeout: .seconds(2), joinPatience: nil)
let sum = try await client.call(API.add, 23, 7, options: options)
// snippet.end

// snippet.RAW
let result = try await client.call("com.example.add", [23, 7])
print(try result.list.first?.int ?? 0)
// snippet.end

// snippet.CALLBACK
client.call(API.add, 23, 7, on: .main) { result in
    switch result {
    case .success(let sum): print(sum)
    case .failure(let error): print(error)
    }
}
// snippet.end

// snippet.ERRORS
do throws(WAMPError) {
    print(try await client.call(API.add, 23, 7))
} catch {
    switch error.code {
    case .refused where error.uri == WAMPURI.Error.noSuchProcedure: print("nobody offers it at present")
    case .refused: print("the answer: \(error.uri ?? "") \((try? error.arguments.list) ?? [])")
    case .timedOut: print("too slow")
    case .connectionLost where error.wasSent == false: print("it never left: once more does no harm")
    case .connectionLost: print("it may have had its effect, or not")
    default: print(error)
    }
}
// snippet.end
print("the sum is \(sum)")
for try await event in try await client.subscribe(API.news) { print(event.content) }
