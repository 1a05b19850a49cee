import Testing

@testable import HoldfastTool

@Suite struct BenchPlanTests {
    private func plan(
        connections: Int = 10, depth: Int? = nil, size: Int = 32, rate: Double? = nil, warmUp: Duration = .seconds(1),
        duration: Duration = .seconds(10)
    ) throws(BenchPlan.Problem) -> BenchPlan {
        try BenchPlan(
            connections: connections, depth: depth, kind: .binary, size: size, rate: rate, warmUp: warmUp, duration: duration,
            wait: .seconds(5))
    }

    @Test func `without a depth one message is in flight, or as many as a rate may need and memory allows`() throws {
        #expect(try plan().depth == 1)
        #expect(try plan(rate: 100).depth == 1024)
        #expect(try plan(connections: 100, size: 1 << 20, rate: 100).depth == 10)
        #expect(try plan(connections: 16, size: 64 << 20, rate: 100).depth == 1)
        #expect(try plan(depth: 7, rate: 100).depth == 7)
    }

    @Test func `every number has bounds, and so has what is in flight`() {
        #expect(throws: BenchPlan.Problem.self) { try plan(connections: 0) }
        #expect(throws: BenchPlan.Problem.self) { try plan(connections: 10_001) }
        #expect(throws: BenchPlan.Problem.self) { try plan(depth: 0) }
        #expect(throws: BenchPlan.Problem.self) { try plan(depth: 65_537) }
        #expect(throws: BenchPlan.Problem.self) { try plan(size: -1) }
        #expect(throws: BenchPlan.Problem.self) { try plan(size: (64 << 20) + 1) }
        for rate in [0, -1, .nan, .infinity, 1e8] { #expect(throws: BenchPlan.Problem.self) { try plan(rate: rate) } }
        #expect(throws: BenchPlan.Problem.self) { try plan(duration: .zero) }
        #expect(throws: BenchPlan.Problem.self) { try plan(connections: 64, depth: 17, size: 1 << 20) }
        #expect(throws: Never.self) { try plan(connections: 64, depth: 16, size: 1 << 20) }
        #expect(throws: BenchPlan.Problem.self) { try plan(connections: 17, size: 64 << 20) }
    }

    @Test func `neither the warm-up nor what comes after the end is measured`() throws {
        let plan = try plan(warmUp: .seconds(1), duration: .seconds(2))
        #expect(plan.end == .seconds(3))
        #expect(!plan.isMeasured(.milliseconds(999)))
        #expect(plan.isMeasured(.seconds(1)))
        #expect(plan.isMeasured(.milliseconds(2999)))
        #expect(!plan.isMeasured(.seconds(3)))
    }

    @Test func `only a rate makes a schedule`() throws {
        #expect(try plan().schedule(ofConnection: 3) == nil)
        #expect(try plan(rate: 50).schedule(ofConnection: 3) == Schedule(rate: 50, connections: 10, place: 3))
    }
}
