import CodecCore
import ProtocolCore
@testable public import WAMPCore

@testable import MachineCore

/// Equality of clients for the exploration: equal clients behave the same from now on.
extension ClientMachine: Hashable {
    private struct Image: Hashable {
        struct DueAlarm: Hashable {
            let at: Moment
            let alarm: Alarm
        }
        let phase: Phase
        let method: String?
        let candidate: JoinedSession?
        let ending: ClientEnding?
        let router: RouterTraits
        let numbers: RequestNumbers
        let dueAlarms: [DueAlarm]
        let generator: SplitMix64
        let lastHandle: UInt64
        let requests: PendingRequests<WAMPID, SentRequest>
        let sent: [ClientHandle: WAMPID]
        let line: PendingRequests<ClientHandle, WaitingRequest>
        let topics: TopicTable
        let procedures: ProcedureTable
        let invocations: InvocationTable
        let testaments: [Testament]
    }

    private var image: Image {
        Image(
            phase: phase, method: method, candidate: candidate, ending: ending, router: router, numbers: numbers,
            dueAlarms: alarms.heap.sorted { ($0.at, $0.turn) < ($1.at, $1.turn) }.map { Image.DueAlarm(at: $0.at, alarm: $0.alarm) },
            generator: generator, lastHandle: lastHandle, requests: requests, sent: sent, line: line, topics: topics,
            procedures: procedures, invocations: invocations, testaments: testaments)
    }

    /// Whether both behave the same from now on.
    public static func == (lhs: ClientMachine, rhs: ClientMachine) -> Bool { lhs.image == rhs.image }
    /// Hashes the state that determines the behaviour.
    public func hash(into hasher: inout Hasher) { hasher.combine(image) }
}
