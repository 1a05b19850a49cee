extension BenchReport {
    private static let nameWidth = 12
    private static let valueWidth = 12

    /// This report for people.
    func lines(style: Style) -> [String] {
        let blocks = [heading(style), latencyTable(style), totals(style), LatencyChart(rows: histogram).lines]
        return Array(blocks.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private func heading(_ style: Style) -> [String] {
        let what = [
            Self.count(connections, "connection"), "\(depth.grouped) in flight on each at most", "\(kind) of \(Self.count(size, "byte"))",
        ]
        let load =
            if let rate {
                "open loop: \(Self.figure(rate)) messages/s in total; latency counts from when a message was due"
            } else {
                "closed loop: a reply lets the next message go, so a slow server is asked less (see --rate)"
            }
        let time = "measured \(Duration.seconds(seconds).phrase) after \(Duration.seconds(warmUpSeconds).phrase) of warm-up"
        return [
            style.paint(url, .prompt), (what + (isCompressed ? ["permessage-deflate"] : [])).joined(separator: ", "), load,
            time + (wasStopped ? ", then stopped" : ""),
        ]
    }

    private func latencyTable(_ style: Style) -> [String] {
        guard latency.count > 0 else { return [style.paint("no message was answered in the time measured", .bad)] }
        let columns = sendDelay == nil ? [("", latency)] : [("due to reply", latency), ("due to sent", sendDelay ?? latency)]
        func row(_ name: String, _ cells: [String]) -> String {
            name + cells.map { $0.paddedLeft(to: Self.valueWidth) }.joined(separator: "  ")
        }
        let head = columns.count == 1 ? "latency" : row("latency".paddedRight(to: Self.nameWidth), columns.map(\.0))
        let body = latency.named.indices.map { index in
            row(latency.named[index].name.paddedLeft(to: Self.nameWidth), columns.map { $0.1.named[index].value.latencyPhrase })
        }
        return [head] + body
    }

    private func totals(_ style: Style) -> [String] {
        func row(_ name: String, _ text: String) -> String { name.paddedRight(to: Self.nameWidth) + text }
        var lines = [
            row("throughput", "\(Int(messagesPerSecond.rounded()).grouped) messages/s, \(perSecond(bytesReceived))"),
            row("received", "\(Self.count(messages, "message")), \(bytesReceived.bytesPhrase)"),
            row("sent", bytesSent.bytesPhrase),
        ]
        if unsent > 0 {
            let unsent = "\(Self.count(unsent, "message")) never left: the rate was too high, true latencies are longer"
            lines.append(row("unsent", style.paint(unsent, .note)))
        }
        lines.append(row("errors", errors.total == 0 ? "0" : style.paint(problems.joined(separator: ", "), .bad)))
        return lines
    }

    private var problems: [String] {
        [
            (errors.wrong, "of another kind or length"), (errors.disordered, "out of order"), (errors.lost, "without a reply"),
            (errors.connectionsEnded, "connection(s) ended early"),
        ].filter { $0.0 > 0 }.map { "\($0.0.grouped) \($0.1)" }
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number.grouped) \(noun)\(number == 1 ? "" : "s")" }

    private func perSecond(_ bytes: Int) -> String { (seconds > 0 ? Int(Double(bytes) / seconds) : 0).bytesPhrase + "/s" }

    private static func figure(_ rate: Double) -> String { rate == rate.rounded() ? Int(rate).grouped : String(rate) }
}
