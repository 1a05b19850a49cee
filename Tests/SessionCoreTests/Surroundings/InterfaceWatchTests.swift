import SessionCore
import Testing

/// The network events that a change of the interfaces causes.
@Suite struct InterfaceWatchTests {
    /// Interfaces in short form.
    ///
    /// A `*` marks the default route.
    private static func interfaces(_ text: String) -> [NetworkInterface] {
        text.split(separator: ";").map { entry in
            let words = entry.split(separator: " ").map(String.init)
            let name = words[0].filter { $0 != "*" }
            let kind = NetworkPath.Kind(linuxName: name)
            return NetworkInterface(name, kind, addresses: Set(words.dropFirst()), isDefault: words[0].hasSuffix("*"))
        }
    }
    private static let eth0 = NetworkPath(.wired, interface: "eth0")
    private static let wlan0 = NetworkPath(.wifi, interface: "wlan0")
    private static let wwan0 = NetworkPath(.cellular, interface: "wwan0", isExpensive: true)
    private static let lo = "lo 127.0.0.1 ::1;"

    /// A change: the interfaces before and after, and the expected events.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let before, after: String
        let expected: [PathWatch.Input]

        init(_ description: String, _ before: String, _ after: String, _ expected: [PathWatch.Input]) {
            (testDescription, self.before, self.after, self.expected) = (description, before, after, expected)
        }
    }

    @Test(
        arguments: [
            Case("nothing changed", "eth0* 10.0.0.2", "eth0* 10.0.0.2", []),
            Case("the only interface was removed", "eth0* 10.0.0.2", "", [.unsatisfied]),
            Case("it lost all its addresses", "eth0* 10.0.0.2", "eth0", [.unsatisfied]),
            Case("only link-local addresses are left", "eth0* 10.0.0.2 fe80::1%eth0", "eth0 fe80::1%eth0 169.254.7.7", [.unsatisfied]),
            Case("still no network", "", "eth0 fe80::1%eth0", []),
            Case("an interface was added", "", "wlan0* 192.168.1.5", [.satisfied(wlan0)]),
            Case("a mobile network was added", "", "wwan0* 100.64.0.1", [.satisfied(wwan0)]),
            Case("IPv6 alone is a network", "", "eth0 2001:db8::2", [.satisfied(eth0)]),
            Case("an address was renewed", "eth0* 10.0.0.2", "eth0* 10.0.7.9", [.unsatisfied, .satisfied(eth0)]),
            Case("an address was added", "eth0* 10.0.0.2", "eth0* 10.0.0.2 2001:db8::2", []),
            Case("one address of two was removed", "eth0* 10.0.0.2 2001:db8::2", "eth0* 10.0.0.2", [.notViable]),
            Case(
                "a cable was plugged in", "wlan0* 192.168.1.5", "eth0* 10.0.0.2;wlan0 192.168.1.5",
                [.satisfied(eth0), .betterPathAvailable]),
            Case(
                "the cable was pulled, Wi-Fi is left", "eth0* 10.0.0.2;wlan0 192.168.1.5", "wlan0* 192.168.1.5",
                [.unsatisfied, .satisfied(wlan0)]),
            Case("another interface was added", "eth0* 10.0.0.2", "eth0* 10.0.0.2;wlan0 192.168.1.5", []),
            Case("another interface was removed", "eth0* 10.0.0.2;wlan0 192.168.1.5", "eth0* 10.0.0.2", []),
            Case(
                "a tunnel took the default route", "eth0* 10.0.0.2", "eth0 10.0.0.2;tun0* 10.8.0.2",
                [.satisfied(NetworkPath(.other, interface: "tun0")), .betterPathAvailable]),
            Case("no default route, the likelier interface counts", "wlan0 192.168.1.5", "docker0 172.17.0.1;wlan0 192.168.1.5", []),
        ])
    func `the events of a change of the interfaces`(change: Case) {
        for loopback in ["", Self.lo] {
            var watch = InterfaceWatch()
            _ = watch.look(at: Self.interfaces(loopback + change.before))
            #expect(watch.look(at: Self.interfaces(loopback + change.after)) == change.expected)
            #expect(watch.look(at: Self.interfaces(loopback + change.after)).isEmpty, "reported once")
        }
    }

    @Test func `the first look reports the current state`() {
        var online = InterfaceWatch()
        #expect(online.look(at: Self.interfaces(Self.lo + "eth0 10.0.0.2")) == [.satisfied(Self.eth0)])
        var offline = InterfaceWatch()
        #expect(offline.look(at: Self.interfaces(Self.lo)) == [.unsatisfied], "the loopback interface is no network")
        #expect(offline.look(at: []).isEmpty)
    }

    @Test func `interface names give the kind`() {
        let kinds = ["lo", "eth0", "enp3s0", "wlan0", "wlp2s0", "wwan0", "ppp0", "tun0", "docker0", "br-1"].map(
            NetworkPath.Kind.init(linuxName:))
        #expect(kinds == [.loopback, .wired, .wired, .wifi, .wifi, .cellular, .cellular, .other, .other, .other])
    }
}

@Suite struct DefaultRoutesTests {
    private static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

    @Test func `the default route with the lowest metric counts`() {
        let routes =
            Self.head + """
                wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
                eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
                eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0

                """
        #expect(DefaultRoutes.interface(inRoutes: routes) == "eth0")
    }

    @Test func `other routes are not the default route`() {
        let routes =
            Self.head + """
                eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
                eth2\t00000000\t0100000A\t0002\t0\t0\t0\t00000000\t0\t0\t0
                tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0
                """
        #expect(DefaultRoutes.interface(inRoutes: routes) == nil)
    }

    @Test(arguments: ["", head, "nonsense", "a\nb c d\ne\t0\t0\tzz\t0\t0\t0\t0\n"])
    func `an invalid table has no default route`(text: String) { #expect(DefaultRoutes.interface(inRoutes: text) == nil) }
}
