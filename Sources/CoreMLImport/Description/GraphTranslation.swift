/// A network or a program as a graph, with the data needed to fill its inputs and read its outputs.
package struct TranslatedGraph: Sendable {
    /// Parameters have the names of the inputs in the description, results those of the outputs.
    package var graph: Graph
    /// The scalers to apply to pictures before they are passed to the graph, by input.
    package var scalers: [String: ImageScaler]
    /// nil if the model is not a classifier.
    package var classifier: Classifier?

    package struct Classifier: Sendable {
        package var labels: [Category]
        /// The name of the graph's result with a score for each class.
        package var result: String
    }

    /// True if requests choose extents and the model can also be translated with the default ones.
    package var canBeClosed: Bool

    /// Translates a network or a program.
    /// - Parameters:
    ///   - files: the files next to the model file, by their path relative to its folder.
    ///   - innerImages: the images that the graph must scale, with the color space in which they arrive.
    ///   - opensExtents: true to leave the extents open that requests may choose. If the model cannot be translated so,
    ///     it gets the default ones.
    ///   - opensImages: true to leave the sides of pictures open, too.
    ///   - takesSequences: true if requests may pass inputs of old networks as sequences of any length.
    package init(
        _ specification: ModelSpecification, files: [String: Bytes],
        innerImages: [String: ImageFeature.ColorSpace] = [:], opensExtents: Bool = true, opensImages: Bool = false,
        takesSequences: Bool = false
    ) throws(ImportError) {
        let description = specification.description
        let isFlexible = description.inputs.contains(where: \.hasDefaultShape)
        canBeClosed = opensExtents && isFlexible
        let classes: (labels: ClassLabels, probabilities: String)?
        if specification.type == .mlProgram {
            let program = try Self.program(
                specification, WeightFiles(files), opensExtents: opensExtents && isFlexible, opensImages: opensImages)
            graph = program.graph
            scalers = [:]
            classes = program.classifier
        } else {
            let network: NeuralNetwork
            do throws(Problem) {
                network = try NeuralNetwork(specification.reader)
            } catch {
                throw ImportError([error])
            }
            let translated = try NetworkTranslator.translate(
                network, description, innerImages: innerImages, opensExtents: opensExtents,
                opensImages: opensImages, takesSequences: takesSequences)
            canBeClosed = canBeClosed || translated.hasSequences
            graph = translated.graph
            scalers = translated.scalers
            classes = translated.classifier
        }
        classifier = classes.map { classes in
            let labels: [Category] =
                switch classes.labels {
                case .strings(let labels): labels.map(Category.string)
                case .integers(let labels): labels.map { .int64(Int64($0)) }
                }
            return Classifier(labels: labels, result: classes.probabilities)
        }
    }

    private static func program(
        _ specification: ModelSpecification, _ files: WeightFiles, opensExtents: Bool, opensImages: Bool
    ) throws(ImportError) -> TranslatedProgram {
        func translate(_ opens: Bool) throws(ImportError) -> TranslatedProgram {
            try ProgramTranslator(
                specification.description, files: files, opensExtents: opens, opensImages: opensImages
            ).translate(specification.reader)
        }
        guard opensExtents else { return try translate(false) }
        do throws(ImportError) {
            return try translate(true)
        } catch {
            // Some programs can be translated with the default shape only.
            return try translate(false)
        }
    }
}
