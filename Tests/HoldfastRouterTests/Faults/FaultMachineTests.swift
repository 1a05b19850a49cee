import CodecCore
import MachineCore
import Testing
import WAMPCore

@testable import HoldfastRouter

/// The rules of faults, without a router.
@Suite struct FaultMachineTests {
    private typealias Transfer = FaultMachine.Transfer
    private let one = RouterConnection(1)
    private let two = RouterConnection(2)

    private func transfer(_ number: WAMPID, _ connection: RouterConnection, isFromClient: Bool = false) -> Transfer {
        Transfer(
            connection: connection, isFromClient: isFromClient, session: connection.number,
            load: .message(.published(request: number, publication: 1)))
    }

    private func effects(_ machine: inout FaultMachine, _ input: FaultMachine.Input, at seconds: Int = 0) -> [FaultMachine.Effect] {
        var effects: [FaultMachine.Effect] = []
        machine.handle(input, at: Moment(.seconds(seconds)), into: &effects)
        return effects
    }

    @Test func `without a fault every message passes, and no state is kept`() {
        var machine = FaultMachine()
        #expect(effects(&machine, .passing(transfer(1, one))) == [.pass(transfer(1, one))])
        #expect(machine.isIdle && machine.deadline == nil)
    }

    @Test func `a delay holds one direction of one client and ends by itself`() {
        var machine = FaultMachine()
        _ = effects(&machine, .add(.delay(.published, by: .seconds(3)), number: 1))
        #expect(effects(&machine, .passing(transfer(1, one)), at: 1) == [.over(number: 1)])
        #expect(effects(&machine, .passing(transfer(2, one)), at: 2) == [])
        #expect(effects(&machine, .passing(transfer(3, two)), at: 2) == [.pass(transfer(3, two))])
        let answer = transfer(4, one, isFromClient: true)
        #expect(effects(&machine, .passing(answer), at: 2) == [.pass(answer)])
        #expect(machine.deadline == Moment(.seconds(4)))
        var woken: [FaultMachine.Effect] = []
        machine.wake(at: Moment(.seconds(4)), into: &woken)
        #expect(woken == [.pass(transfer(1, one)), .pass(transfer(2, one))])
        #expect(machine.isIdle)
    }

    @Test func `held messages are removed with their client`() {
        var machine = FaultMachine()
        _ = effects(&machine, .add(.stall(.published), number: 1))
        _ = effects(&machine, .add(.late(.published, by: .seconds(1)), number: 2))
        _ = effects(&machine, .passing(transfer(1, one)))
        _ = effects(&machine, .passing(transfer(2, one)))
        #expect(!machine.isIdle)
        _ = effects(&machine, .closed(one))
        #expect(machine.isIdle && machine.deadline == nil)
    }

    @Test func `a client with too many held messages is cut`() {
        var machine = FaultMachine()
        _ = effects(&machine, .add(.stall(.published), number: 1))
        var last: [FaultMachine.Effect] = []
        for number in 0...FaultMachine.mostHeld { last = effects(&machine, .passing(transfer(WAMPID(number), one))) }
        #expect(last == [.cut(one)])
        #expect(machine.isIdle)
    }

    @Test func `a stall lasts longer than a delay, and a release ends both`() {
        var machine = FaultMachine()
        _ = effects(&machine, .add(.delay(.published, by: .seconds(3)), number: 1))
        _ = effects(&machine, .add(.stall(.published), number: 2))
        _ = effects(&machine, .passing(transfer(1, one)))
        _ = effects(&machine, .passing(transfer(2, one)))
        #expect(machine.deadline == nil)
        #expect(effects(&machine, .release) == [.pass(transfer(1, one)), .pass(transfer(2, one))])
    }

    @Test func `a dropped or delayed request still counts in its order, also behind a stall`() {
        func request(_ load: (WAMPMessage) -> Transfer.Load, _ number: WAMPID) -> Transfer {
            let message = WAMPMessage.subscribe(request: number, options: ValueMap(), topic: "a")
            return Transfer(connection: one, isFromClient: true, session: 1, load: load(message))
        }
        var machine = FaultMachine()
        for (number, fault) in [RouterFault.drop(.subscribe), .stall(.subscribe), .late(.subscribe, by: .seconds(1))].enumerated() {
            _ = effects(&machine, .add(fault, number: UInt64(number)))
        }
        #expect(
            effects(&machine, .passing(request(Transfer.Load.message, 1))) == [.over(number: 0), .pass(request(Transfer.Load.lost, 1))])
        for number in WAMPID(2)...3 { _ = effects(&machine, .passing(request(Transfer.Load.message, number))) }
        let released = [FaultMachine.Effect.pass(request(Transfer.Load.message, 2)), .pass(request(Transfer.Load.lost, 3))]
        #expect(effects(&machine, .release) == released)
        var woken: [FaultMachine.Effect] = []
        machine.wake(at: Moment(.seconds(1)), into: &woken)
        #expect(woken == [.pass(request(Transfer.Load.again, 3))])
    }

    @Test func `each kind has the type number of its message`() {
        let messages: [WAMPMessage] = [
            .hello(realm: "", details: ValueMap()), .welcome(session: 1, details: ValueMap()),
            .subscribe(request: 1, options: ValueMap(), topic: ""), .event(subscription: 1, publication: 1, details: ValueMap(), .none),
            .result(request: 1, details: ValueMap(), .none), .yield(request: 1, options: ValueMap(), .none),
            .interrupt(request: 1, options: ValueMap()), .unregistered(request: 1, details: ValueMap()),
        ]
        let kinds: [WAMPMessageKind] = [.hello, .welcome, .subscribe, .event, .result, .yield, .interrupt, .unregistered]
        #expect(messages.map(\.type) == kinds.map(\.rawValue))
    }
}
