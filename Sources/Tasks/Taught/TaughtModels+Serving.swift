internal import Inference
package import ServiceCore
package import Settings
internal import Synchronization
internal import SystemSupport
internal import Teaching
package import WireFormats

extension TaughtModels {
    /// Applies settings to later changes.
    package func use(_ settings: Settings) {
        store.set(limits: TeachingLimits(settings))
        keepsPictures.store(settings.taughtKeepPictures, ordering: .relaxed)
    }

    /// The error 400 for a request to a taught model that it cannot answer.
    package func refusal(_ name: String) -> ServiceError {
        .invalidInput(
            "\"\(name.prefix(80))\" is a taught model: it answers /classify, and /v1/taught/\(name.prefix(80))")
    }

    /// Throws 400 for a request that would load, unload or roll out a taught model.
    package func refuseControl(of name: String) throws(ServiceError) {
        guard owns(name) else { return }
        throw .invalidInput(
            "\"\(name.prefix(80))\" is a taught model, which is not loaded from the model folders: /v1/taught/\(name.prefix(80)) changes it"
        )
    }

    /// The number and size of all taught models, for metrics.
    package var usage: TaughtUsage {
        var usage = TaughtUsage()
        for model in store.all {
            usage.models += 1
            usage.examples += model.view.state.examples.count
            if case .stale = knownCondition(of: model) { usage.stale += 1 }
        }
        usage.bytes = store.bytes
        return usage
    }
}

extension TeachingLimits {
    /// The limits in the settings.
    package init(_ settings: Settings) {
        self.init()
        models = settings.taughtMaxModels
        classes = settings.taughtMaxClasses
        examples = settings.taughtMaxExamples
        patches = settings.taughtMaxPatches
        bytes = settings.taughtMaxBytes
        versions = settings.taughtKeepVersions
    }
}
