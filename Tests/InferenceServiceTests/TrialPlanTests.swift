import Inference
import InferenceService
import Settings
import Testing

/// What a model's trial does, and the time for it.
@Suite struct TrialPlanTests {
    @Test func theTrialHasTwiceTheTimeWhereTheModelIsCompiledForOneStreamToo() {
        var settings = Settings()
        settings.model = ["m=/models/m.onnx"]
        settings.cacheDirectory = ""
        settings.loadTrialTimeout = 60
        for (streams, seconds) in [(1, 60), (2, 120)] {
            settings.streams = streams
            let plan = ServicePlan(settings: settings, environment: [:])
            #expect(plan.trialTime == .seconds(seconds))
            #expect(plan.servingConfiguration.loadLimit == .seconds(3 * seconds), "the trial, and what it has done")
        }
    }

    /// A file that crashes on the second stream only crashes in the trial.
    @Test func theTrialRunsAllStreamsWithACacheAndWithoutOne() {
        for cache in ["", "auto"] {
            var settings = Settings()
            settings.cacheDirectory = cache
            #expect(TrialRun.configuration(settings).comparesStreams, "\(cache)")
        }
    }
}
