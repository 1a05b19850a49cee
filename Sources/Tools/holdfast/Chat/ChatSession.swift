import Holdfast
import HoldfastRooms

/// One `chat` command at work.
struct ChatSession: Sendable {
    let rooms: Rooms
    let room: Room
    let style: Style
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
                let input = StandardInput()
                while let bytes = await input.read() {
                    guard await screen.type(bytes) else { return .clean }
                }
                return Task.isCancelled ? nil : .clean
            }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            await group.waitForAll()
            return outcome ?? .failed
        }
        await screen.close()
        let waiting = room.outbox.count { $0.stage.position == nil }
        if waiting > 0 { StandardOutput.warn(style.paint("* \(waiting.counted("message")) not stored yet", .note)) }
        return outcome
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
                guard let line = json ? EntryLine.json(entry, room: room.name) : EntryLine.text(entry) else { continue }
                StandardOutput.write(line + "\n")
                room.readUpTo(entry.seq)
            }
            return nil
        } catch {
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return (error as? RoomsError).map { Outcome($0) } ?? .failed
        }
    }

    private func sendLines(patience: Duration) async -> Outcome? {
        var (outcome, receipts) = (Outcome.clean, [Receipt]())
        do throws(RoomsError) {
            for await line in Lines(texts: []) {
                guard case .text(let text) = line else {
                    outcome = .badInput
                    continue
                }
                if text.isEmpty { continue }
                receipts.append(try await room.send(ChatText(text)))
                if receipts.count > 100 { try await receipts.removeFirst().stored(within: patience) }
            }
            if Task.isCancelled { return nil }
            var last = LogPosition.nowhere
            for receipt in receipts { last = try await receipt.stored(within: patience) }
            if !receipts.isEmpty { await printed(last, within: patience) }
            return outcome
        } catch {
            if case .cancelled = error { return nil }
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return Outcome(error)
        }
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
