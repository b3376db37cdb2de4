import HTTPServer
import HTTPWire
import InferenceService
internal import ServicePlanning
internal import SystemSupport
import Testing

/// `listen`, with passed sockets and without.
@Suite struct ListenPlanTests {
    private static let none = SystemdSockets(environment: [:], processID: 7)
    private static let one = SystemdSockets(environment: ["LISTEN_PID": "7", "LISTEN_FDS": "1"], processID: 7)

    @Test("without passed sockets the plan listens on the addresses of the setting")
    func withoutPassedSocketsItIsTheSetting() throws {
        let plan = try ListenPlan(["127.0.0.1:8080", "unix:/run/x"], passed: Self.none)
        #expect(plan.addresses == ["127.0.0.1:8080", "unix:/run/x"].compactMap { ListenerAddress(parsing: $0) })
        #expect(plan.replaced == [])
        #expect(try ListenPlan(["systemd"], passed: Self.none).addresses == [.systemd])
    }

    @Test("sockets passed by systemd replace the configured addresses")
    func passedSocketsTakeThePlaceOfAddresses() throws {
        let plan = try ListenPlan(["127.0.0.1:8080", "unix:/run/x"], passed: Self.one)
        #expect(plan.addresses == [.systemd])
        #expect(plan.replaced == ["127.0.0.1:8080", "unix:/run/x"])
    }

    @Test(
        "a listen setting that names systemd is used unchanged, even with passed sockets",
        arguments: [["systemd", "127.0.0.1:9"], ["127.0.0.1:9", "systemd:web"]])
    func aListThatSpeaksOfThemIsTakenAsItIs(_ listen: [String]) throws {
        let plan = try ListenPlan(listen, passed: Self.one)
        #expect(plan.addresses == listen.compactMap { ListenerAddress(parsing: $0) })
        #expect(plan.replaced == [])
    }

    @Test("sockets passed to another process are ignored")
    func socketsOfAnotherProcessAreIgnored() throws {
        let other = SystemdSockets(environment: ["LISTEN_PID": "8", "LISTEN_FDS": "1"], processID: 7)
        #expect(try ListenPlan(["127.0.0.1:9"], passed: other).replaced == [])
    }

    @Test(
        "the options routes and proxy are read from behind an address, and the address is kept",
        arguments: [
            ("127.0.0.1:80?routes=infer", [AccessClass.infer], nil),
            ("[::1]:80?routes=read,admin", [.read, .admin], nil),
            (":80?proxy=v1", nil, .one), (":80?proxy=v2", nil, .two), (":80?routes=admin&proxy=v2", [.admin], .two),
            ("unix:/run/x?mode=0600&routes=admin&owner=a:b", [.admin], nil),
            ("systemd:web?routes=infer", [.infer], nil),
        ] as [(String, [AccessClass]?, ProxyHeader.Version?)])
    func optionsStandBehindTheAddress(_ text: String, routes: [AccessClass]?, version: ProxyHeader.Version?) throws {
        let plan = try ListenPlan([text], passed: Self.none)
        #expect(plan.routes == [routes.map { Set($0) }])
        #expect(plan.listeners.map(\.proxyHeader) == [version])
        let expected = text.hasPrefix("unix") ? "unix:/run/x?mode=0600&owner=a:b" : String(text.prefix { $0 != "?" })
        #expect(plan.addresses == [try #require(ListenerAddress(parsing: expected))])
    }

    @Test(
        "an unknown or malformed listener option is refused with a message that names the setting",
        arguments: [
            (":80?routes=", "\"\" is not a group of routes"), (":80?routes=infer,", "\"\" is not a group"),
            (":80?routes=health", "\"health\" is not a group"), (":80?routes", "is not a group"),
            (":80?proxy", "proxy=v1 or proxy=v2"),
            (":80?proxy=v3", "proxy=v3: expected proxy=v1 or proxy=v2"), (":80?mode=0600", "cannot listen on"),
            (":80?", "cannot listen on"),
            ("?routes=infer", "cannot listen on"),
        ])
    func wrongOptionsAreRefused(_ text: String, words: String) {
        let error = #expect(throws: CommandError.self) { try ListenPlan([text], passed: Self.none) }
        #expect(
            error?.description.contains(words) == true && error?.description.contains("(listen)") == true,
            "\(error as Any)")
    }

    /// Otherwise a socket of systemd would serve routes that the address does not.
    @Test("passed sockets do not replace an address with options: the error suggests systemd:NAME")
    func passedSocketsDoNotTakeThePlaceOfAddressesWithOptions() {
        for text in ["127.0.0.1:9?routes=infer", "127.0.0.1:9?proxy=v1", "127.0.0.1:9?proxy=v2"] {
            let error = #expect(throws: CommandError.self) { try ListenPlan([text], passed: Self.one) }
            #expect(error?.description.contains("systemd:NAME") == true)
        }
    }

    /// Frequent wrong forms of an address.
    @Test(
        "a malformed listen address is refused, with the intended address suggested where possible",
        arguments: [
            ("9000", "127.0.0.1:9000"), ("localhost", "localhost:8080"), ("0.0.0.0", "0.0.0.0:8080"),
            ("::1:9000", "[::1]:9000"), ("fe80::1", "[fe80::1]:8080"), ("http://localhost:9000/", "localhost:9000"),
            ("https://10.0.0.1:9000", "10.0.0.1:9000"), ("/run/ocelli.sock", "unix:/run/ocelli.sock"),
            ("nowhere", nil), ("127.0.0.1:99999", nil), ("", nil), (":", nil), ("99999", nil), ("[::1", nil),
        ] as [(String, String?)])
    func theAddressThatWasMeantIsNamed(_ text: String, _ meant: String?) {
        let error = #expect(throws: CommandError.self) { try ListenPlan([text], passed: Self.none) }
        let hint = meant.map { "\"\(text)\" (did you mean \"\($0)\"?): expected" } ?? "\"\(text)\": expected HOST:PORT"
        #expect(error?.description.contains(hint) == true, "\(String(describing: error))")
    }

    /// A mistake is reported even if the address would not be used.
    @Test("a malformed listen address is refused with and without passed sockets")
    func aMistakeIsNamed() {
        for passed in [Self.none, Self.one] {
            let error = #expect(throws: CommandError.self) { try ListenPlan(["nowhere"], passed: passed) }
            #expect(error?.description.contains("\"nowhere\": expected HOST:PORT") == true)
        }
    }
}
