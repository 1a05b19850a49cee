// Fast streams for slow consumers. Needs a server that sends ticks.
import Holdfast

struct Tick: Codable, Equatable, Sendable { let symbol: String, price: Double }

func redraw(_ ticks: [Tick]) { print("\(ticks.count) symbols have changed") }
func write(_ ticks: [Tick]) async { print("\(ticks.count) ticks are written") }

let socket = WebSocket("ws://127.0.0.1:9001/")

await withDiscardingTaskGroup { group in
    group.addTask {
        // snippet.screen
        let board = socket.batches(of: Tick.self, delivery: .latest(by: \.symbol).atMost(perSecond: 60))
        do {
            for try await ticks in board { redraw(ticks) }
        } catch {
            print("no more ticks: \(error)")
        }
        print("\(board.counts.conflated) ticks were replaced by newer ones before anybody saw them")
        // snippet.end
    }
    group.addTask {
        do {
            // snippet.archive
            for try await ticks in socket.batches(of: Tick.self, upTo: 1000, within: .seconds(1)) { await write(ticks) }
            // snippet.end
        } catch {
            print("no more ticks: \(error)")
        }
    }
    group.addTask {
        do {
            // snippet.topic
            for try await tick in socket.stream(of: Tick.self, where: .field("symbol", is: "SAIL"), delivery: .latest) {
                print("SAIL is at \(tick.price)")
            }
            // snippet.end
        } catch {
            print("no more ticks: \(error)")
        }
    }
    group.addTask {
        // snippet.undecoded
        let changes = socket.stream(of: Tick.self, delivery: .latest(byField: "symbol").atMost(perSecond: 10))
        // snippet.end
        do { for try await tick in changes { print("\(tick.symbol): \(tick.price)") } } catch { print("no more ticks: \(error)") }
    }
}
