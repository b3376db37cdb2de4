/// The answers of one stream, and their source.
struct Reference: Sendable {
    var answers: ReferenceAnswers
    let source: ReferenceSource
    /// True if the answers come from an earlier load.
    let isCached: Bool

    /// Finds the reference of a model file, and the result of the comparison so far. Blocks: may compile the model for
    /// one stream.
    /// - Parameter known: the answers, if an earlier attempt of this load has computed them.
    static func find(
        _ file: any ModelFile, engine: any Engine, source: ModelSource, _ configuration: ModelConfiguration,
        plan: ModelPlan, known: ReferenceAnswers?
    ) -> (Reference?, StreamCheck) {
        func none(_ reason: String) -> (Reference?, StreamCheck) { (nil, .notCompared(reason: reason)) }
        guard configuration.comparesStreams, engine.comparesStreams else { return none("the streams are not checked") }
        guard plan.inputs.allSatisfy({ $0.description.elementType != .string }) else {
            return none("an input is a string")
        }
        guard known != nil || configuration.compile.runsSeveralStreams else { return none("it runs with one stream") }
        let source = ReferenceSource(file, engine: engine, source: source, options: configuration.compile, plan: plan)
        let cached = known ?? source.cached()
        do throws(EngineError) {
            let answers = if let cached { cached } else { try source.computed() }
            if answers.isRandom { return (nil, .random) }
            return (Reference(answers: answers, source: source, isCached: cached != nil && known == nil), .equal)
        } catch {
            return (nil, .impossible(reason: error.message))
        }
    }
}

/// A difference between the answers of a model's streams and those of one stream.
struct StreamDifference: Sendable {
    let text: String
    /// The answers of one stream.
    let answers: ReferenceAnswers
    /// True if only the batch variant differs.
    var isOfBatches = false
}
