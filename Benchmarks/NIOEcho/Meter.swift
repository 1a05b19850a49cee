import Foundation
import NIOCore

/// How a client's messages are counted: from three tenths of the time on, so that everything is warm.
struct Meter: Sendable {
    let size: Int
    let seconds: Double
    private(set) var bytes = 0
    private var opened = NIODeadline.now()
    private var start: (at: NIODeadline, cpu: Double, bytes: Int)?

    init(size: Int, seconds: Double) {
        self.size = size
        self.seconds = seconds
    }

    var elapsed: Double { Double((NIODeadline.now() - opened).nanoseconds) * 1e-9 }

    mutating func open() {
        opened = .now()
    }

    mutating func count(_ more: Int) {
        bytes += more
        if start == nil, elapsed > seconds * 0.3 { start = (.now(), Self.cpuSeconds(), bytes) }
    }

    func report() {
        guard let start else { return }
        let messages = (bytes - start.bytes) / size
        let seconds = Double((NIODeadline.now() - start.at).nanoseconds) * 1e-9
        print("{\"messages\": \(messages), \"seconds\": \(seconds), \"cpu\": \(Self.cpuSeconds() - start.cpu)}")
    }

    /// The processor time of this process so far, of all its threads.
    private static func cpuSeconds() -> Double {
        Double(clock()) / Double(CLOCKS_PER_SEC)
    }
}
