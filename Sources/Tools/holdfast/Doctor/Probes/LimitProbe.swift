import Holdfast

/// Sends messages of growing size, and then between the largest taken and the smallest refused; a new connection after each refusal.
enum LimitProbe {
    static func run(_ kind: MessageKind, cap: Int, _ habits: Habits, _ errand: Errand) async throws -> LimitView {
        var (search, view) = (LimitSearch(cap: cap), LimitView(cap: cap))
        (view.sentAs, view.proof) = (kind == .text ? "text" : "binary", habits.echoes == true ? "echo" : "pong")
        var wire: Wire?
        while let size = search.next, errand.hasTime {
            let open: Wire
            if let wire, await !wire.isOver { open = wire } else { open = try await Wire.open(errand) }
            wire = open
            let reaction = await send(size, kind, on: open, habits, errand)
            // There was no time left to see it.
            if reaction.kind == .nothing, !errand.hasTime { break }
            if reaction.isSurvived, habits.echoes != true || reaction.kind == .echoed {
                search.took(size)
            } else {
                search.refused(size)
                view.refusal = reaction
                await open.drop()
            }
        }
        await wire?.leave()
        (view.largestTaken, view.smallestRefused) = (search.taken == 0 ? nil : search.taken, search.refused)
        return view
    }

    private static func send(_ size: Int, _ kind: MessageKind, on wire: Wire, _ habits: Habits, _ errand: Errand) async -> Reaction {
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        let opcode = kind == .text ? Opcode.text : .binary
        let start = ContinuousClock.now
        await wire.send(opcode, bytes)
        return await wire.reply(to: Wire.Expected(opcode: opcode, bytes: bytes), since: start, habits, errand).reaction
    }
}
