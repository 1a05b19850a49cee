/// How long pieces of work take, by a clock that is given.
struct Stopwatch {
    /// How often each piece is timed; the median counts.
    var rounds = 5
    /// The least that is timed at once: a shorter piece is done over and over, for a clock is not sharp.
    var atLeast = Duration.milliseconds(10)
    /// No further round begins for a piece that has taken this long in all; the first always does.
    var patience = Duration.seconds(2)
    let now: () -> Duration

    init(now: @escaping () -> Duration) { self.now = now }

    /// The time of one run of each, timed in turn round by round, so that a machine that is slow for a while is so for all.
    func times(of works: [() -> Void]) -> [Duration] {
        var samples = [[Duration]](repeating: [], count: works.count)
        var spent = [Duration](repeating: .zero, count: works.count)
        let repetitions = works.map(repetitions)
        for _ in 0..<max(1, rounds) {
            for (place, work) in works.enumerated() where samples[place].isEmpty || spent[place] < patience {
                let time = time(of: work, repetitions[place])
                spent[place] += time
                samples[place].append(time / repetitions[place])
            }
        }
        return samples.map { $0.sorted()[$0.count / 2] }
    }

    /// How often a work has to be done to be long enough; trying that also warms it up.
    private func repetitions(_ work: () -> Void) -> Int {
        var count = 1
        while count < 1 << 24, time(of: work, count) < atLeast { count *= 2 }
        return count
    }

    private func time(of work: () -> Void, _ repetitions: Int) -> Duration {
        let start = now()
        for _ in 0..<repetitions { work() }
        return now() - start
    }
}
