/// What the doctor has seen so far: there when a signal comes in the middle.
actor CaseNotes {
    private(set) var observations: Observations
    private let onProbe: @Sendable (String) -> Void

    init(_ observations: Observations, onProbe: @escaping @Sendable (String) -> Void = { _ in }) {
        (self.observations, self.onProbe) = (observations, onProbe)
    }

    func begin(_ probe: String) { onProbe(probe) }
    func note(_ change: (inout Observations) -> Void) { change(&observations) }
    func fail(_ probe: String, _ why: String) { observations.unfinished.append(.init(probe: probe, why: why)) }
}
