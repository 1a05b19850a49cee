/// Lines of what happened when: time since the start, who, and what.
struct Timeline: Hashable, Sendable {
    enum Party: String, Hashable, Sendable, CaseIterable { case hub, link, ann, bob, demo }

    let style: Style

    func line(at time: Duration, _ party: Party, _ text: String, _ part: Style.Part? = nil) -> String {
        let name = party.rawValue + String(repeating: " ", count: 4 - party.rawValue.count)
        return style.paint(time.timelineColumn, .dim) + "  " + name + "  " + (part.map { style.paint(text, $0) } ?? text)
    }
}
