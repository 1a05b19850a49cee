// Procedures that fail in words of their own, and that answer in parts. Start `holdfast serve wamp`, then run this.
import HoldfastWAMP

enum API {
    static let add = Procedure<(Int, Int), Int>("com.example.add")
}
let client = WAMPClient("ws://127.0.0.1:9001/", realm: "realm1")

// snippet.REGISTER
let registration = try await client.register(API.add) { input, _ in input.0 + input.1 }
// snippet.end

// snippet.FAILURE
let shop = Procedure<(String, Int), Int>("com.example.shop.buy")
let buying = try await client.register(shop) { input, invocation in
    let (item, count) = input
    guard count > 0 else { throw WAMPFailure("com.example.error.no_count", ["how many of it?", .text(item)]) }
    guard invocation.callerAuthRole != "guest" else { throw WAMPFailure(WAMPURI.Error.notAuthorized) }
    return count * 7
}
// snippet.end

// snippet.PARTS
let count = Procedure<Int, Int>("com.example.count")
let counting = try await client.register(count) { end, invocation in
    for number in 1..<max(end, 1) { try await invocation.progress(number) }
    return end
}
for try await part in try client.callProgressively(count, 3) { print(part.value, part.isFinal ? "at last" : "so far") }
// snippet.end

do { print(try await client.call(shop, "tea", 0)) } catch { print(error) }
for offer in [registration, buying, counting] { offer.unregister() }
await client.close()
