import CodecCore
import ProtocolCore
@testable public import WAMPCore

@testable import MachineCore

/// Two clients are the same if they go on in the same way; for the exploration.
extension ClientMachine: Hashable {
    private struct Image: Hashable {
        struct Bell: Hashable {
            let at: Moment
            let alarm: Alarm
        }
        let phase: Phase
        let method: String?
        let candidate: JoinedSession?
        let ending: ClientEnding?
        let router: RouterTraits
        let numbers: RequestNumbers
        let bells: [Bell]
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
            bells: alarms.heap.sorted { ($0.at, $0.turn) < ($1.at, $1.turn) }.map { Image.Bell(at: $0.at, alarm: $0.alarm) },
            generator: generator, lastHandle: lastHandle, requests: requests, sent: sent, line: line, topics: topics,
            procedures: procedures, invocations: invocations, testaments: testaments)
    }

    /// Whether both go on in the same way.
    public static func == (lhs: ClientMachine, rhs: ClientMachine) -> Bool { lhs.image == rhs.image }
    /// Hashes what makes it go on.
    public func hash(into hasher: inout Hasher) { hasher.combine(image) }
}
