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
}
