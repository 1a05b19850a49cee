import HoldfastTesting
import NIOCore
import Testing

@testable import WebSocketNIO

/// Many alarms that share one timer.
@Suite struct LoopAlarmsTests {
    final class Sleeper: Alarmed {
        let name: Int
        var alarmIndex: Int?
        init(_ name: Int) { self.name = name }
        func alarmRang() {}
    }

    @Test(arguments: UInt64(1)...20) func `alarms that are set, moved and removed fire in order, each once`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sleepers = (0..<40).map(Sleeper.init)
        var alarms = LoopAlarms()
        var expected: [Int: Int64] = [:]
        for _ in 0..<500 {
            let sleeper = sleepers.randomElement(using: &random)!
            if Int.random(in: 0..<3, using: &random) == 0 {
                alarms.remove(sleeper)
                expected[sleeper.name] = nil
            } else {
                let at = Int64.random(in: 0..<1000, using: &random)
                alarms.set(sleeper, at: .uptimeNanoseconds(UInt64(at)))
                expected[sleeper.name] = at
            }
            #expect(alarms.next.map { Int64($0.uptimeNanoseconds) } == expected.values.min())
        }
        var now: Int64 = 0
        while now < 1000 {
            now += 50
            var last: Int64 = 0
            while let owner = alarms.takeDue(by: .uptimeNanoseconds(UInt64(now))) as? Sleeper {
                let at = expected.removeValue(forKey: owner.name) ?? .max
                #expect(last <= at && at <= now && owner.alarmIndex == nil)
                last = at
            }
            #expect(expected.values.allSatisfy { $0 > now })
        }
        #expect(alarms.next == nil && sleepers.allSatisfy { $0.alarmIndex == nil })
    }
}
