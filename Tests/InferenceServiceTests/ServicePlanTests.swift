import FlowControl
import ImagePipeline
import Inference
import InferenceService
internal import ServicePlanning
import Settings
import Testing

/// The configuration of each part, derived from the settings.
@Suite struct ServicePlanTests {
    /// Reloads wait for every load: a load that hangs must end, with a load check before it or without.
    @Test("a model load has a time limit, with a load check before the load and without", arguments: [true, false])
    func loadsThatAServerStartsHaveALimit(_ hasLoadCheck: Bool) {
        var settings = Settings()
        settings.models = ["/nowhere"]
        settings.cacheDirectory = ""
        settings.loadTrial = hasLoadCheck
        settings.loadTrialTimeout = 7
        let configuration = ServicePlan(settings: settings, environment: [:]).servingConfiguration
        #expect(configuration.loadLimit == .seconds(21))
        #expect((configuration.loadCheck != nil) == hasLoadCheck)
    }

    @Test(
        "state_dir auto is the first folder of $STATE_DIRECTORY, or none; another value is the folder, and none if empty",
        arguments: [
            ("auto", nil, nil), ("auto", "", nil), ("auto", "/var/lib/ocelli", "/var/lib/ocelli"),
            ("auto", "/var/lib/a:/var/lib/b", "/var/lib/a"), ("", "/var/lib/ocelli", nil),
            ("/srv/state", "/var/lib/ocelli", "/srv/state"), ("/srv/state", nil, "/srv/state"),
        ] as [(String, String?, String?)])
    func theStateFolderIsTheServiceManagersOrTheOperators(_ setting: String, _ variable: String?, _ expected: String?) {
        var settings = Settings()
        settings.models = ["/nowhere"]
        settings.cacheDirectory = ""
        settings.stateDirectory = setting
        let environment = variable.map { ["STATE_DIRECTORY": $0] } ?? [:]
        #expect(ServicePlan(settings: settings, environment: environment).stateFolder == expected)
    }

    @Test("the process of a load check runs models as the daemon does: its flags give the same configuration")
    func loadChecksRunModelsAsTheDaemonDoes() throws {
        var settings = Settings()
        settings.models = ["/nowhere"]
        settings.cacheDirectory = ""
        (settings.engine, settings.device) = (.openvino, "AUTO")
        (settings.onnxRuntimePath, settings.liteRTPath) = ("/opt/onnxruntime.so", "/opt/libLiteRt.so")
        (settings.hint, settings.precision, settings.integerWeights) = (.latency, .bfloat16, false)
        (settings.threads, settings.streams) = (3, 2)
        (settings.maxPixels, settings.pictureFormats, settings.tolerateTruncated) = (1_000_000, [.jpeg, .png], true)
        let plan = ServicePlan(settings: settings, environment: [:])
        var loader = SettingsLoader(), words = plan.childLoadCheck.flags[...]
        while let word = words.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            let setting = try #require(SettingsTable.all.first { $0.flag == parts[0] }, "\(word)")
            let text = try #require(parts.count > 1 ? parts[1] : words.popFirst())
            loader.set(setting, text: text, origin: word)
        }
        #expect(loader.problems.isEmpty)
        let own = plan.modelConfiguration
        let other = ServicePlan(settings: loader.settings, environment: [:]).modelConfiguration
        #expect(other.engineRequest == own.engineRequest)
        #expect(own.engineRequest.libraries == [.onnxruntime: "/opt/onnxruntime.so", .litert: "/opt/libLiteRt.so"])
        #expect(other.compile == own.compile)
        #expect(other.integerWeights == own.integerWeights)
        #expect(other.imageLimits == own.imageLimits && own.imageLimits.formats == [.jpeg, .png])
    }

    @Test("unconfirmed models are refused if the setting says so", arguments: UnconfirmedPolicy.allCases)
    func unconfirmedModelsAreRefusedIfTheSettingSaysSo(_ policy: UnconfirmedPolicy) {
        var settings = Settings()
        settings.models = ["/nowhere"]
        settings.cacheDirectory = ""
        settings.unconfirmed = policy
        let plan = ServicePlan(settings: settings, environment: [:])
        #expect(plan.servingConfiguration.refusesUnconfirmed == (policy == .refuse))
    }

    /// Two nodes of 32 cores each, from an invented /sys.
    private static let twoNodes = HostResources(
        HostFiles(
            text: { path in
                switch path {
                case "/proc/self/status": "Cpus_allowed_list:\t0-63\n"
                case "/sys/devices/system/node/online": "0-1\n"
                case "/sys/devices/system/node/node0/cpulist": "0-31\n"
                case "/sys/devices/system/node/node1/cpulist": "32-63\n"
                default: nil
                }
            }, openFiles: { nil }))

    @Test("on several NUMA nodes a stream has 4 cores, one of ONNX Runtime 1, and single-stream requests a node")
    func severalNodesGetStreamsThatFit() {
        func plan(_ change: (inout Settings) -> Void = { _ in }) -> ServicePlan {
            var settings = Settings()
            settings.models = ["/nowhere"]
            settings.cacheDirectory = ""
            change(&settings)
            return ServicePlan(settings: settings, environment: [:], resources: Self.twoNodes)
        }
        func numbers(_ plan: ServicePlan) -> [Int?] {
            let compile = plan.modelConfiguration.compile
            var lone: Int?
            if case .automatic(let threads, _) = plan.singleStreamPolicy { lone = threads }
            return [compile.threads, compile.streams, compile.streamsOfOneThread, lone]
        }
        #expect(numbers(plan()) == [64, 16, 64, 32])
        #expect(numbers(plan { $0.hint = .latency }) == [32, nil, nil, 32])
        #expect(numbers(plan { $0.streams = 8 }) == [64, 8, nil, 32])
        #expect(numbers(plan { $0.threads = 40 }) == [40, 32, nil, 32])
        #expect(numbers(plan { $0.threads = 20 }) == [20, 32, nil, 20])
        let row = LimitsReport(plan()).rows.last
        #expect(row?.name == "NUMA nodes" && row?.value == "2")
        #expect(row?.reason == "node 0 has 32 cores (0-31), node 1 has 32 cores (32-63)")
    }
}
