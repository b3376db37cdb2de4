import Inference
import InferenceService
import Settings
import Testing

/// The configuration of each part by the settings.
@Suite struct ServicePlanTests {
    /// Reloads wait for every load: one that hangs must end, with a load check before it or without.
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
}
