internal import FoundationEssentials
package import Settings

/// Runs a model on noise in a separate process, within the limits of a load check, for facts that only its output
/// values show.
package struct OutputProbeRun: Sendable {
    private let child: ChildLoadCheck?

    package init(settings: Settings) {
        child =
            settings.loadTrial
            ? ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment).childLoadCheck : nil
    }

    /// Blocks until the process has ended.
    /// - Parameters:
    ///   - path: a model file, or a SavedModel's folder.
    ///   - height: of pictures, in pixels, where the file leaves it open.
    ///   - width: the same.
    package func probe(_ path: String, height: Int, width: Int) -> ProbeOutcome {
        child?.probe(path, height: height, width: width) ?? .impossible("load_trial is off")
    }
}
