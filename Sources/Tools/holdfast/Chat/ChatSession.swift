import Holdfast
import HoldfastRooms

/// One `chat` command at work.
struct ChatSession: Sendable {
    let rooms: Rooms
    let room: Room
    let style: Style
    /// What is not sent waits in a file, and not only here.
    let hasStore: Bool
    private static let framesPerSecond = 20

    // MARK: - On the whole screen

    /// Shows the chat until a key ends it.
    func show() async -> Outcome {
        let screen = await ChatScreen(ChatModel(room), style: style)
        guard await screen.open() else { return .failed }
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1) / Self.framesPerSecond)) != nil { await screen.draw() }
                return nil
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1))) != nil { await screen.note(try? await rooms.socket.ping()) }
                return nil
            }
            group.addTask {
                await screen.loadEarlier()
                return nil
            }
            group.addTask { await talk(on: screen) }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            await group.waitForAll()
            return outcome ?? .failed
        }
        let waiting = room.outbox.count { $0.stage.position == nil }
        if waiting > 0 {
            let end = hasStore ? "not stored by the hub yet; what waits in --store goes out with its next use" : "not stored, and lost"
            StandardOutput.warn(style.paint("* \(waiting.counted("message")) \(end)", .note))
        }
        return outcome
    }

    /// Takes keys until one ends the chat; what was sent before that is in the outbox when it returns.
    private func talk(on screen: ChatScreen) async -> Outcome? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await screen.send() }
            let input = StandardInput()
            while let bytes = await input.read(), await screen.type(bytes) {}
            await screen.close()  // From here on Control-C is SIGINT again.
        }
        return Task.isCancelled ? nil : .clean
    }

    // MARK: - Lines in, lines out

    /// Sends the lines of standard input and prints the entries, until the input has ended and what was sent is stored.
    func pipe(json: Bool, patience: Duration) async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await printEntries(json: json) }
            group.addTask { await sendLines(patience: patience) }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            return outcome ?? .failed
        }
    }

    private func printEntries(json: Bool) async -> Outcome? {
        do {
            for try await update in room.messages {
                guard let entry = update.entry else { continue }
                if let line = json ? EntryLine.json(entry, room: room.name) : EntryLine.text(entry) { StandardOutput.write(line + "\n") }
                room.readUpTo(entry.seq)
            }
            return nil
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return (error as? RoomsError).map { Outcome($0) } ?? .failed
        }
    }

    private func sendLines(patience: Duration) async -> Outcome? {
        let sender = LineSender(rooms: rooms, patience: patience, skipsEmpty: true) { text throws(RoomsError) in
            try await room.send(ChatText(text))
        }
        let (outcome, last) = await sender.send(Lines(texts: [])) { fate in
            switch fate {
            case .stored: break
            case .failed(_, let error): StandardOutput.warn("\(error)".escapedOnOneLine)
            case .unfit(let reason): StandardOutput.warn(reason)
            }
        }
        if Task.isCancelled { return nil }
        if let last { await printed(last, within: patience) }
        return outcome
    }
}

extension ChatSession {
    /// Waits until an entry is printed: the read marker follows what is.
    private func printed(_ position: LogPosition, within patience: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await status in room.statuses where status.cursor.epoch != position.epoch || status.read >= position.seq { return }
            }
            group.addTask { try? await Task.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension ChatScreen {
    /// Takes a round trip.
    func note(_ trip: Duration?) { roundTrip = trip }
}
