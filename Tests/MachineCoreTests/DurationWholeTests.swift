import MachineCore
import Testing

struct DurationWholeTests {
    @Test func `whole units are rounded towards zero`() {
        let duration = Duration.nanoseconds(1_234_567_890)
        #expect(duration.wholeMilliseconds == 1234 && duration.wholeMicroseconds == 1_234_567 && duration.wholeNanoseconds == 1_234_567_890)
        #expect((.zero - duration).wholeMilliseconds == -1234 && Duration.nanoseconds(-1).wholeMicroseconds == 0)
    }

    @Test func `very long durations are limited so that sums do not overflow`() {
        for seconds in [Int64.max, 1 << 53] {
            for unit in [\Duration.wholeMilliseconds, \.wholeMicroseconds, \.wholeNanoseconds] {
                let (most, least) = (Duration.seconds(seconds)[keyPath: unit], Duration.seconds(-seconds)[keyPath: unit])
                #expect(most == -least && most <= .max / 4 && most > 1 << 60)
            }
        }
        #expect(Duration.seconds(1 << 33).wholeMilliseconds == 1000 << 33)
    }
}
