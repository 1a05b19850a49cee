import Testing

@testable import Holdfast

@Suite struct AppOptionsTests {
    @Test func `the options of an app follow the system's sources`() {
        var options = WebSocketOptions()
        #expect(options.pathSource == nil && options.lifeSource == nil)
        options.subprotocols = ["chat.v1"]
        options.followSystem()
        #expect(options.subprotocols == ["chat.v1"])
        for options in [options, .app] {
            #if os(Linux)
                #expect(options.pathSource is LinuxPathSource)
                #expect(options.lifeSource == nil)
            #elseif os(iOS) || os(macOS)
                #expect(options.pathSource is NetworkPathMonitor)
                #expect(options.lifeSource is AppLifecycle)
            #endif
        }
    }
}
