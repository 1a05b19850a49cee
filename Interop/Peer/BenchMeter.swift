import Foundation

/// Counts messages, from three tenths of the time on, so that everything is warm.
struct BenchMeter {
    private let seconds: Double
    private let opened = ContinuousClock.now
    private var messages = 0
    private var start: (elapsed: Duration, cpu: Double, messages: Int)?

    init(seconds: Double) {
        self.seconds = seconds
    }

    var elapsed: Duration { ContinuousClock.now - opened }

    mutating func count() {
        messages += 1
        guard start == nil, messages % 64 == 0, elapsed > .seconds(seconds * 0.3) else { return }
        start = (elapsed, Self.cpuSeconds, messages)
    }

    /// Compares the count with what the sink says, and prints the measure.
    func finish(_ said: String) {
        guard said == "end \(messages)", let start else {
            print("counted \(messages), the sink says '\(said)'")
            exit(1)
        }
        let seconds = (elapsed - start.elapsed) / .seconds(1)
        print("{\"messages\": \(messages - start.messages), \"seconds\": \(seconds), \"cpu\": \(Self.cpuSeconds - start.cpu)}")
    }

    /// The processor time of this process so far, of all its threads.
    private static var cpuSeconds: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}
