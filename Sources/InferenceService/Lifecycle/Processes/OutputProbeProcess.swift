internal import FoundationEssentials
package import ServicePlanning
package import Settings

/// Runs a model on noise in a separate process, within the limits of a load check, to learn facts that only its output
/// values show.
package struct OutputProbeProcess: Sendable {
    private let child: ChildLoadCheck?

    package init(settings: Settings) {
        child =
            settings.loadTrial
            ? ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment).childLoadCheck : nil
    }

    /// Runs the model. Blocks until the process has ended.
    /// - Parameters:
    ///   - path: a model file, or a SavedModel's folder.
    ///   - height: the height of pictures in pixels, if the file leaves it open.
    ///   - width: the width of pictures in pixels, if the file leaves it open.
    package func probe(_ path: String, height: Int, width: Int) -> ProbeOutcome {
        child?.probe(path, height: height, width: width) ?? .impossible("load_trial is off")
    }
}
