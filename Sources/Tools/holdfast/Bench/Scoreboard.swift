/// Where the batches of all connections meet.
actor Scoreboard {
    private var before = Tally()
    private var recent = Tally()

    func add(_ batch: Tally.Batch) { recent.add(batch) }

    /// What came since the last call, and all errors so far.
    func takeRecent() -> (recent: Tally, errors: Int) {
        let taken = recent
        before.add(recent)
        recent = Tally()
        return (taken, before.counts.errors)
    }

    func total() -> Tally {
        var total = before
        total.add(recent)
        return total
    }
}
