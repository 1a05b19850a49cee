import Testing

@testable import HoldfastTool

@Suite struct ScheduleTests {
    @Test func `connections take turns at an even distance`() {
        let schedules = (0..<4).map { Schedule(rate: 1000, connections: 4, place: $0) }
        let times = (0..<3).flatMap { number in schedules.map { $0.time(of: number) } }
        #expect(times == (0..<12).map { .milliseconds($0) })
    }

    @Test(arguments: [0.3, 1, 7, 999.9, 1e6 / 3, 10_000_000], [1, 3, 10_000])
    func `what is due before a time is what has an earlier one`(rate: Double, connections: Int) {
        for place in [0, connections / 2, connections - 1] {
            let schedule = Schedule(rate: rate, connections: connections, place: place)
            for number in [0, 1, 2, 50, 1001, 123_456] {
                let time = schedule.time(of: number)
                #expect(schedule.count(before: time) == number)
                #expect(schedule.count(before: time + .nanoseconds(1)) == number + 1)
            }
        }
    }

    @Test func `nothing is due before the start`() {
        #expect(Schedule(rate: 5, connections: 2, place: 0).count(before: .zero) == 0)
        #expect(Schedule(rate: 5, connections: 2, place: 1).count(before: .milliseconds(200)) == 0)
    }
}
