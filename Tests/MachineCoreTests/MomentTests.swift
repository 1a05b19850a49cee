import MachineCore
import Testing

@Suite struct MomentTests {
    @Test func `the distant future plus any duration does not overflow`() {
        let latest = Moment.distantFuture + .seconds(Int64.max)
        #expect(latest > .distantFuture && latest - .distantFuture == .seconds(Int64.max))
    }
}
