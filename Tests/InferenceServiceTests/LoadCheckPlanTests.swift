import Inference
import InferenceService
import Settings
import Testing

/// The steps of a model's load check.
@Suite struct LoadCheckPlanTests {
    /// A file that crashes only on the second stream must crash in the load check.
    @Test("the load check compares streams, with a model cache and without")
    func theTrialRunsAllStreamsWithACacheAndWithoutOne() {
        for cache in ["", "auto"] {
            var settings = Settings()
            settings.cacheDirectory = cache
            #expect(LoadCheckProgram.configuration(settings).comparesStreams, "\(cache)")
        }
    }
}
